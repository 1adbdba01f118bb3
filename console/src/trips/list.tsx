// The list of trips with its filters, and the button that books a ride.
import { useState } from 'preact/hooks'
import { api, good, type Schemas } from '../app/api'
import { allowed } from '../app/session'
import { Field, List, Problem } from '../app/ui'
import { usePages } from '../app/use'
import { say, state } from '../app/words'
import { Booking } from './booking'
import { statuses, tripColumns } from './columns'

export function Trips() {
  const [status, setStatus] = useState<Schemas['TripStatus'] | ''>('')
  const [from, setFrom] = useState('')
  const [to, setTo] = useState('')
  const [booking, book] = useState(false)
  const filter = { ...(status ? { status } : {}), ...(from ? { from } : {}), ...(to ? { to } : {}) }
  const list = usePages<Schemas['Trip']>(cursor => good(api.GET('/api/v1/trips', { params: { query: { limit: 100, ...filter,
    ...(cursor ? { cursor } : {}) } } })), [status, from, to], 2500, ['trip.'])
  return <section>
    <h1>{say('trips')}</h1>
    <div class="filters">
      <label class="field">{say('status')}
        <select value={status} onChange={e => setStatus(e.currentTarget.value as Schemas['TripStatus'] | '')}>
          <option value="">{say('all')}</option>
          {statuses.map(s => <option key={s} value={s}>{state(s)}</option>)}
        </select></label>
      <Field name={say('from')} type="date" value={from} change={setFrom} />
      <Field name={say('to')} type="date" value={to} change={setTo} />
      {allowed('tenant.trips:write') && <button class="main" onClick={() => book(true)}>{say('book')}</button>}
    </div>
    <Problem failure={list.failure} />
    <List label={say('trips')} items={list.items} columns={tripColumns} href={t => `#/trips/${t.id}`} more={list.more}
      load={() => void list.load()} see={list.see} />
    {booking && <Booking close={() => book(false)} done={id => { location.hash = `#/trips/${id}` }} />}
  </section>
}
