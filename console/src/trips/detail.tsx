// One trip: what is known, its history as a time line, and what an operator may do with it.
import { useMemo, useState } from 'preact/hooks'
import { api, Failure, good, once, tagged, type Schemas } from '../app/api'
import { allowed } from '../app/session'
import { Facts, Field, Problem, Question } from '../app/ui'
import { useDraft, useOnce, usePolled } from '../app/use'
import { money, say, state, when } from '../app/words'
import { Canvas, marker, open, ride } from '../map/map'
import { Badge, fare } from './columns'

type Trip = Schemas['TripDetail']
type Verb = 'assign' | 'unassign' | 'cancel' | 'arrived' | 'start' | 'complete' | 'refund' | 'fare'

// verbs are what an operator may do in a status (the API says no all the same).
function verbs(trip: Trip): Verb[] {
  switch (trip.status) {
    case 'PENDING': case 'SEARCHING': case 'COLLECTING_OFFERS': case 'SCHEDULED': return ['assign', 'cancel']
    case 'ASSIGNED': return ['arrived', 'assign', 'unassign', 'cancel']
    case 'DRIVER_ARRIVED': return ['start', 'assign', 'unassign', 'cancel']
    case 'IN_PROGRESS': return ['complete', 'cancel']
    case 'WAITING_CUSTOMER': return ['cancel']
    case 'COMPLETED': return trip.finalFare !== null && allowed('tenant.wallets:write') ? ['fare', 'refund'] : []
    default: return []
  }
}

const names = (trip: Trip): Record<Verb, [string, string]> => ({
  assign: trip.driverId === null ? [say('assign'), say('askAssign')] : [say('handOver'), say('askHandOver')],
  unassign: [say('unassign'), say('askUnassign')], cancel: [say('cancelTrip'), say('askCancel')],
  arrived: [say('arrived'), say('askArrived')], start: [say('start'), say('askStart')],
  complete: [say('complete'), say('askComplete')], refund: [say('refund'), say('askRefund')],
  fare: [say('correctFare'), say('askFare')],
})

export function TripView({ id }: { id: string }) {
  const trip = usePolled(() => tagged(api.GET('/api/v1/trips/{id}', { params: { path: { id } } })), [id], 2500, ['trip.'],
    found => found.data.driver !== null && open(found.data))
  const [asked, ask] = useState<Verb | null>(null)
  const t = trip.data?.data ?? null
  const scene = useMemo(() => ({ zones: [], rides: t ? [ride(t)] : [], drivers: t?.driver ? marker(t.driver) : [] }), [trip.data])
  if (t === null) return <section><Problem failure={trip.failure} />{!trip.failure && <p role="status">{say('loading')}</p>}</section>
  return <section>
    <p><a href="#/trips">{say('back')}</a></p>
    <h1>{say('trip', { code: t.tripCode })} <Badge word={t.status} /></h1>
    <Problem failure={trip.failure} />
    {allowed('tenant.trips:write') && <p class="buttons">{verbs(t).map(v =>
      <button key={v} class={v === 'cancel' ? 'danger' : ''} onClick={() => ask(v)}>{names(t)[v][0]}</button>)}</p>}
    <div class="columns">
      <Facts of={[[say('rider'), t.customer && <a href={`#/customers/${t.customerId}`}>{t.customer.name}</a>],
        [say('driver'), t.driver && <a href={`#/drivers/${t.driverId ?? ''}`}>{t.driver.firstName} {t.driver.lastName}</a>],
        [say('origin'), t.originAddress], [say('destination'), t.destAddress], [say('requested'), when(t.requestedAt)],
        [say('notes'), t.notes], [say('reason'), t.cancelReason]]} />
      <div><h2>{say('money')}</h2>
        <Facts of={[[say('fare'), fare(t) || say('noFare')], [say('payment'), state(t.paymentType)],
          [say('distance'), t.actualDistance === null ? null : say('km', { n: t.actualDistance })],
          [say('duration'), t.actualDuration === null ? null : say('minutes', { n: Math.round(t.actualDuration / 60) })]]} />
        {t.status === 'COMPLETED' && allowed('tenant.wallets:read') && <Receipt trip={t} />}
      </div>
    </div>
    <div class="one"><Canvas scene={scene} chosen={null} choose={() => undefined} ready /></div>
    <h2>{say('history')}</h2>
    <ol class="timeline">{t.log.map(e => <li key={e.id}><time dateTime={e.at}>{when(e.at)}</time>
      <b>{state(e.type)}</b> <small>{say('by', { who: who(e.actor, t) })}</small>
      {e.data.reason && <q>{e.data.reason}</q>}</li>)}</ol>
    {asked && <Ask trip={t} tag={trip.data!.tag} verb={asked} again={trip.again} close={() => ask(null)}
      done={() => { ask(null); void trip.again() }} />}
  </section>
}

// Receipt shows the lines of the trip's receipt and its corrections. Settlement writes it a
// moment after the ride.
function Receipt({ trip }: { trip: Trip }) {
  const receipt = usePolled(() => good(api.GET('/api/v1/trips/{id}/receipt', { params: { path: { id: trip.id } } })),
    [trip.id, trip.updatedAt], 10_000)
  const r = receipt.data
  if (r === null) return null
  return <table class="plain"><caption>{say('receipt', { n: r.version })}</caption>
    <tbody>{r.lines.map((line, i) => <tr key={i}><td>{line.description}</td>
      <td class="number">{money(line.amount, r.currency)}</td></tr>)}
    {r.payment.refunded > 0 && <tr><td>{state('REFUND')}</td><td class="number">{money(-r.payment.refunded, r.currency)}</td></tr>}
    {r.corrections.map(c => <tr key={c.version}><td>{when(c.at)} <q>{c.reason}</q></td>
      <td class="number">{c.total === null ? '' : money(c.total, r.currency)}</td></tr>)}</tbody></table>
}

// who names an actor of a log entry.
function who(actor: Schemas['TripLogActor'], trip: Trip): string {
  if (actor.type === 'rider' && trip.customer) return trip.customer.name
  if (actor.type === 'driver' && trip.driver?.id === actor.id) return `${trip.driver.firstName} ${trip.driver.lastName}`
  return actor.type === 'system' ? say('system') : actor.id
}

// refunded is what the rider got back already. A refund has no If-Match, so it is compared
// when the question is asked and when it is answered.
const refunded = (trip: Trip) => good(api.GET('/api/v1/trips/{id}/receipt', { params: { path: { id: trip.id } } }))
  .then(r => r.payment.refunded)

// Ask asks before a change of the trip. Two operators never overwrite each other: the change
// names the state that was seen when it was asked for, and after a refusal the one seen now.
function Ask({ trip, tag, verb, again, close, done }: { trip: Trip; tag: string; verb: Verb; again: () => Promise<void>; close: () => void
  done: () => void }) {
  const [reason, setReason, forgetReason] = useDraft(`${verb} ${trip.id}`)
  const [amount, setAmount, forgetAmount] = useDraft(`${verb} amount ${trip.id}`,
    String((verb === 'refund' || verb === 'fare' ? trip.finalFare : trip.estimatedFare) ?? ''))
  const [driver, setDriver] = useState('')
  const [seen, see] = useState<string | null>(tag)
  const before = usePolled(() => verb === 'refund' ? refunded(trip) : Promise.resolve(0), [verb], 3600_000)
  const drivers = usePolled(() => verb === 'assign'
    ? good(api.GET('/api/v1/drivers', { params: { query: { limit: 200, status: 'ONLINE' } } })) : Promise.resolve(null), [verb], 10_000)
  const send = useOnce()
  const act = () => send(async key => {
    try {
      return await change(key)
    } catch (error) {
      if (error instanceof Failure && error.status === 412) {
        see(null)
        await again() // the next answer is about what is shown then
      }
      throw error
    }
  })
  const change = async (key: ReturnType<typeof once>) => {
    const path = { path: { id: trip.id }, header: { ...key.header, 'If-Match': seen ?? tag } }
    if (verb === 'refund' && await refunded(trip) !== (before.data ?? 0)) { // a quick answer comes before the reading
      await before.again()
      throw new Failure(412, 'conflict', '', '')
    }
    switch (verb) {
      case 'assign': return good(api.POST('/api/v1/trips/{id}/assign', { params: path, body: { driverId: driver } }))
      case 'unassign': return good(api.POST('/api/v1/trips/{id}/unassign', { params: path, body: { reason } }))
      case 'cancel': return good(api.POST('/api/v1/trips/{id}/cancel', { params: path, body: { reason } }))
      case 'arrived': return good(api.POST('/api/v1/trips/{id}/arrived', { params: path }))
      case 'start': return good(api.POST('/api/v1/trips/{id}/start', { params: path }))
      case 'fare': return good(api.POST('/api/v1/trips/{id}/fare', { params: path,
        body: { finalFare: Number(amount), reason } }))
      case 'refund': return good(api.POST('/api/v1/wallets/postings', { params: key, body: { type: 'REFUND', tripId: trip.id,
        customerId: trip.customerId, amount: Number(amount), description: reason } }))
      case 'complete': return good(api.POST('/api/v1/trips/{id}/complete', { params: path,
        body: amount ? { finalFare: Number(amount) } : {} }))
    }
  }
  return <Question title={names(trip)[verb][1]} action={act} done={() => { forgetReason(); forgetAmount(); done() }}
    close={close}>
    {verb === 'refund' && !!before.data && <p>{say('refundedAlready', { amount: money(before.data, trip.currency) })}</p>}
    {verb === 'assign' && <label class="field">{say('chooseDriver')}
      <select required value={driver} onChange={e => setDriver(e.currentTarget.value)}>
        <option value="" />
        {(drivers.data?.items ?? []).filter(d => d.id !== trip.driverId).map(d => <option key={d.id} value={d.id}>
          {d.firstName} {d.lastName} {d.vehiclePlate}</option>)}
      </select></label>}
    {['cancel', 'unassign', 'refund', 'fare'].includes(verb) && <Field name={say('reason')} value={reason} change={setReason} required />}
    {['complete', 'refund', 'fare'].includes(verb) && <Field name={`${say(verb === 'refund' ? 'amount' : 'fare')} (${trip.currency})`}
      required={verb !== 'complete'} type="number" step="any" value={amount}
      change={setAmount} />}
  </Question>
}
