// Drivers and customers: lists with a search as one types, and one person.
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, good, type Schemas } from '../app/api'
import { allowed } from '../app/session'
import { Facts, List, Problem, Progress, Question, type Column } from '../app/ui'
import { useDraft, usePages, usePolled, useSettled } from '../app/use'
import { count, money, say, state, when } from '../app/words'
import { Badge, tripColumns } from '../trips/columns'

const named = (d: Schemas['Driver']) => `${d.firstName} ${d.lastName}`.trim()

const mostSearched = 5000

// Drivers searches the list that it has: while something is typed it reads on, page by page.
export function Drivers() {
  const [status, setStatus] = useState<Schemas['DriverStatus'] | ''>('')
  const [typed, type] = useDraft('find driver')
  const q = useSettled(typed.trim().toLowerCase())
  const read = (cursor?: string) => good(api.GET('/api/v1/drivers', { params: { query: { limit: 100,
    ...(cursor ? { cursor } : {}), ...(status ? { status } : {}) } } }))
  const list = usePages<Schemas['Driver']>(read, [status], 5000, ['driver.'])
  const have = list.items?.length ?? 0
  const reading = q !== '' && list.more && have < mostSearched && list.failure === null
  useEffect(() => { if (reading) void list.load() }, [reading, have])
  const found = list.items?.filter(d => [named(d), d.email, d.phone, d.vehiclePlate, d.vehicleModel]
    .some(text => text?.toLowerCase().includes(q))) ?? null
  const columns: Column<Schemas['Driver']>[] = [
    { name: say('name'), cell: named }, { name: say('status'), cell: d => <Badge word={d.status} /> },
    { name: say('plate'), cell: d => d.vehiclePlate }, { name: say('vehicle'), cell: d => d.vehicleModel },
    { name: say('phone'), cell: d => d.phone }, { name: say('rating'), cell: d => d.rating, number: true },
    { name: say('tripCount'), cell: d => count(d.totalTrips), number: true }]
  return <section>
    <h1>{say('drivers')}</h1>
    <div class="filters"><label class="field">{say('search')}
      <input type="search" value={typed} placeholder={say('driverHint')} onInput={e => type(e.currentTarget.value)} /></label>
    <label class="field">{say('status')}
      <select value={status} onChange={e => setStatus(e.currentTarget.value as Schemas['DriverStatus'] | '')}>
        <option value="">{say('all')}</option>
        {(['ONLINE', 'BUSY', 'OFFLINE'] as const).map(s => <option key={s} value={s}>{state(s)}</option>)}
      </select></label></div>
    <Problem failure={list.failure} />
    {reading && <Progress of={say('searching')} done={have} total={mostSearched} />}
    {q && !reading && found?.length === 0 ? <p role="status">{say('noMatch')}</p>
      : <List label={say('drivers')} items={found} columns={columns} href={d => `#/drivers/${d.id}`} more={list.more}
        load={() => void list.load()} see={list.see} />}
  </section>
}

export function Customers() {
  const [typed, type] = useDraft('find customer')
  const q = useSettled(typed.trim())
  const read = (cursor?: string) => good(api.GET('/api/v1/customers', { params: { query: { limit: 100,
    ...(cursor ? { cursor } : {}), ...(q ? { q } : {}) } } }))
  const list = usePages<Schemas['Customer']>(read, [q], 10_000, ['customer.'])
  const columns: Column<Schemas['Customer']>[] = [
    { name: say('name'), cell: c => c.name }, { name: say('email'), cell: c => c.email },
    { name: say('phone'), cell: c => c.phone }, { name: say('tripCount'), cell: c => count(c.totalTrips), number: true },
    { name: say('since'), cell: c => when(c.createdAt) }]
  return <section>
    <h1>{say('customers')}</h1>
    <label class="field">{say('search')}
      <input type="search" value={typed} placeholder={say('searchHint')} onInput={e => type(e.currentTarget.value)} /></label>
    <Problem failure={list.failure} />
    {q && list.items?.length === 0 ? <p role="status">{say('noMatch')}</p>
      : <List label={say('customers')} items={list.items} columns={columns} href={c => `#/customers/${c.id}`}
        more={list.more} load={() => void list.load()} see={list.see} />}
  </section>
}

// Person is a driver or customer with wallet and trips. Two operators never overwrite each
// other: a change names the version that was seen (If-Match).
export function Person({ side, id }: { side: 'drivers' | 'customers'; id: string }) {
  const filter = side === 'drivers' ? { driverId: id } : { customerId: id }
  const trips = usePages<Schemas['Trip']>(cursor => good(api.GET('/api/v1/trips', { params: { query: { limit: 50, ...filter,
    ...(cursor ? { cursor } : {}) } } })), [id], 5000)
  const etag = useRef('')
  const path = { path: { id } }
  const found = usePolled(async () => {
    const asked = side === 'drivers' ? api.GET('/api/v1/drivers/{id}', { params: path })
      : api.GET('/api/v1/customers/{id}', { params: path })
    etag.current = (await asked).response.headers.get('ETag') ?? ''
    return good<Schemas['ManagedDriver'] | Schemas['ManagedCustomer']>(asked)
  }, [id], 10_000)
  const [asking, ask] = useState(false)
  const one = found.data
  const change = () => {
    const params = { ...path, header: { 'If-Match': etag.current } }
    const body = { disabled: !one!.disabled }
    return side === 'drivers' ? good(api.PATCH('/api/v1/drivers/{id}', { params, body }))
      : good(api.PATCH('/api/v1/customers/{id}', { params, body }))
  }
  return <section>
    <p><a href={`#/${side}`}>{say('back')}</a></p>
    <h1>{one ? `${one.firstName} ${one.lastName}` : id} {one?.disabled && <Badge word="DISABLED" />}</h1>
    <Problem failure={found.failure ?? trips.failure} />
    {one && <Facts of={[[say('email'), one.email], [say('phone'), one.phone], [say('rating'), one.rating],
      ...('vehiclePlate' in one ? [[say('status'), <Badge word={one.status} />], [say('plate'), one.vehiclePlate],
        [say('vehicle'), [one.vehicleColor, one.vehicleModel].filter(Boolean).join(' ')],
        [say('position'), one.locationUpdatedAt ? when(one.locationUpdatedAt) : say('never')]] as [string, preact.ComponentChildren][]
        : []), [say('tripCount'), count(one.totalTrips)]]} />}
    {one && allowed(`tenant.${side}:write`) && <p class="buttons"><button class={one.disabled ? '' : 'danger'}
      onClick={() => ask(true)}>{say(one.disabled ? 'enable' : 'disable')}</button></p>}
    {asking && one && <Question title={say(one.disabled ? 'askEnable' : 'askDisable')} action={change}
      close={() => ask(false)} done={() => { ask(false); void found.again() }} />}
    {allowed('tenant.wallets:read') && <Wallet filter={filter} currency={trips.items?.[0]?.currency ?? ''} id={id} />}
    <h2>{say('lastTrips')}</h2>
    <List label={say('lastTrips')} items={trips.items} columns={tripColumns} href={t => `#/trips/${t.id}`} more={trips.more}
      load={() => void trips.load()} see={trips.see} />
  </section>
}

// Wallet lists the postings of a person's wallet, newest first.
function Wallet({ filter, currency, id }: { filter: { driverId: string } | { customerId: string }; currency: string; id: string }) {
  const list = usePages<Schemas['WalletPosting']>(cursor => good(api.GET('/api/v1/wallets/postings', { params: { query: {
    limit: 50, ...filter, ...(cursor ? { cursor } : {}) } } })), [id], 5000)
  const columns: Column<Schemas['WalletPosting']>[] = [
    { name: say('time'), cell: p => when(p.createdAt) }, { name: say('reason'), cell: p => p.description },
    { name: say('kind'), cell: p => state(p.type) },
    { name: say('amount'), cell: p => currency ? money(p.amount, currency) : p.amount, number: true }]
  return <>
    <h2>{say('wallet')}</h2>
    <Problem failure={list.failure} />
    <List label={say('wallet')} items={list.items} columns={columns} more={list.more} load={() => void list.load()} see={list.see} />
  </>
}
