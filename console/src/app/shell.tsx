// The frame: sign-in, the menu of what the person may see, and the view of the address.
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { LiveMap } from '../map/map'
import { Customers, Drivers, Person } from '../people/people'
import { Reports } from '../reports/reports'
import { TripView } from '../trips/detail'
import { Trips } from '../trips/list'
import { api, good } from './api'
import { paint } from './colour'
import { useCompany } from './company'
import { allowed, signedIn, signIn, signOut } from './session'
import { Problem } from './ui'
import { usePolled, useRoute } from './use'
import { say } from './words'

const views = [
  ['map', 'tenant.drivers:read'], ['trips', 'tenant.trips:read'], ['drivers', 'tenant.drivers:read'],
  ['customers', 'tenant.customers:read'], ['reports', 'tenant.reports:read'],
] as const

export function Shell({ failed }: { failed: string | null }) {
  if (!signedIn()) return <main class="welcome">
    <h1>{say('title')}</h1>
    <p>{say('welcome')}</p>
    {failed && <p class="problem" role="alert">{say('signInFailed', { code: failed })}</p>}
    <button class="main" onClick={() => void signIn()}>{say('signIn')}</button>
  </main>
  return <Signed />
}

function Signed() {
  const route = useRoute()
  const seen = views.filter(([, scope]) => allowed(scope))
  const view = route[0] || seen[0]?.[0] || ''
  const me = usePolled(() => good(api.GET('/api/v1/me')), [], 300_000)
  const look = usePolled(() => good(api.GET('/api/v1/branding')), [], 300_000)
  useEffect(() => paint(look.data?.primaryColor), [look.data])
  const ready = useCompany()
  const company = me.data && 'membership' in me.data ? me.data.membership.tenantName : ''
  const here = views.find(([name]) => name === view)?.[0]
  useEffect(() => { document.title = [here && say(here), company, say('title')].filter(Boolean).join(' – ') }, [company, here])
  const shown = useRef(route.join('/'))
  useLayoutEffect(() => { // the keyboard goes on in the new view before the next key, and a screen reader says it
    if (shown.current !== route.join('/')) document.getElementById('content')?.focus()
    shown.current = route.join('/')
  }, [route])
  return <>
    <button class="skip" onClick={() => document.getElementById('content')?.focus()}>{say('skip')}</button>
    <header>
      <strong>{look.data?.appName ?? company}</strong>
      <nav>{seen.map(([name]) => <a key={name} href={`#/${name}`} {...(view === name ? { 'aria-current': 'page' } : {})}>
        {say(name)}</a>)}</nav>
      <button onClick={() => void signIn({ change: true })}>{say('changeCompany')}</button>
      <button onClick={() => void signOut()}>{say('signOut')}</button>
    </header>
    <main id="content" tabIndex={-1}>
      <Problem failure={me.failure} />
      {ready ? <View view={view} id={route[1] ?? ''} /> : <p role="status">{say('loading')}</p>}
    </main>
  </>
}

function View({ view, id }: { view: string; id: string }) {
  switch (view) {
    case 'map': return <LiveMap />
    case 'trips': return id ? <TripView id={id} key={id} /> : <Trips />
    case 'drivers': return id ? <Person side="drivers" id={id} key={id} /> : <Drivers />
    case 'customers': return id ? <Person side="customers" id={id} key={id} /> : <Customers />
    case 'reports': return <Reports />
    default: return <p role="status">{say('nothing')}</p>
  }
}
