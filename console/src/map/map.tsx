// The live map. Positions come from the lists of drivers and trips, read every few
// seconds; in between the drivers glide.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { api, good, type Schemas } from '../app/api'
import { Problem } from '../app/ui'
import { map } from '../app/company'
import { usePolled } from '../app/use'
import { count, say, state } from '../app/words'
import { between, draw, fitting, moved as pannedBy, placeAt, project, silent, type Marker, type Place, type Ride, type Scene, type View } from './draw'
import type { Base } from './tiles'

const every = 2500
const maxDrivers = 1000

export const open = (trip: Schemas['Trip']) => trip.status !== 'COMPLETED' && trip.status !== 'CANCELLED'

export async function allDrivers(): Promise<Schemas['Driver'][]> {
  const found: Schemas['Driver'][] = []
  let cursor: string | undefined
  do {
    const page = await good(api.GET('/api/v1/drivers', { params: { query: { limit: 200, ...(cursor ? { cursor } : {}) } } }))
    found.push(...page.items)
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined && found.length < maxDrivers)
  return found
}

export const marker = (d: Schemas['Driver']): Marker[] => d.currentLat === null || d.currentLng === null ? []
  : [{ id: d.id, label: `${d.firstName} ${d.lastName}`, status: d.status, lat: d.currentLat, lng: d.currentLng,
    at: Date.parse(d.locationUpdatedAt ?? '') || 0 }]

export const ride = (t: Schemas['Trip']): Ride => ({ id: t.id, label: t.tripCode, status: t.status,
  from: { lat: t.originLat, lng: t.originLng },
  to: t.destLat === null || t.destLng === null ? null : { lat: t.destLat, lng: t.destLng } })

// useMoments draws anew from time to time: positions age also while nothing is received.
function useMoments(): number {
  const [moment, setMoment] = useState(0)
  useEffect(() => {
    const timer = window.setInterval(() => setMoment(n => n + 1), 10_000)
    return () => window.clearInterval(timer)
  }, [])
  return moment
}

export function LiveMap() {
  const moment = useMoments()
  const drivers = usePolled(allDrivers, [], every)
  const trips = usePolled(() => good(api.GET('/api/v1/trips', { params: { query: { limit: 200 } } })), [], every, ['trip.'])
  const zones = usePolled(() => good(api.GET('/api/v1/zones')), [], 60_000)
  const scene: Scene = useMemo(() => ({ zones: zones.data?.items ?? [],
    rides: (trips.data?.items ?? []).filter(open).map(ride), drivers: (drivers.data ?? []).flatMap(marker) }),
  [drivers.data, trips.data, zones.data])
  const [chosen, choose] = useState<string | null>(null)
  const online = (drivers.data ?? []).filter(d => d.status !== 'OFFLINE').length
  const lost = scene.drivers.filter(d => d.status !== 'OFFLINE' && silent(d)).length
  return <section class="live">
    <h1 class="hidden">{say('map')}</h1>
    <div class="numbers"><span>{say('online')} <b>{count(online)}</b></span>
      <span>{say('openTrips')} <b>{count(scene.rides.length)}</b></span>
      {lost > 0 && <span>{say('silent')} <b>{count(lost)}</b></span>}
      <span class="legend">{(['ONLINE', 'BUSY', 'OFFLINE'] as const).map(s => <span key={s}><i class={s.toLowerCase()} />{state(s)}</span>)}
        <span><i class="old" />{say('silent')}</span><span><i class="waiting" />{say('waitingTrip')}</span>
        <span><i class="riding" />{state('IN_PROGRESS')}</span></span></div>
    <Problem failure={drivers.failure ?? trips.failure ?? zones.failure} />
    <div class="beside-map"><Canvas scene={scene} chosen={chosen} choose={choose} moment={moment} ready={[drivers, trips, zones].every(one => one.data ?? one.failure)} />
    <ul class="open">{(trips.data?.items ?? []).filter(open).slice(0, 50).map(t => <li key={t.id}
      class={t.id === chosen ? 'chosen' : ''} onMouseEnter={() => choose(t.id)} onFocus={() => choose(t.id)}>
      <a href={`#/trips/${t.id}`}>{t.tripCode}</a> {state(t.status)} <small>{t.originAddress}</small></li>)}</ul></div>
  </section>
}

// useBase lays the company's map, if it has one, below the canvas.
function useBase(view: View | null) {
  const box = useRef<HTMLDivElement>(null)
  const [base, setBase] = useState<Base | null>(null)
  const [broken, breakDown] = useState(false)
  useEffect(() => {
    if (map.tiles === '' || box.current === null) return
    let laid: Base | null = null
    let ended = false
    import('./tiles').then(({ lay }) => {
      if (ended || box.current === null) return
      laid = lay(box.current, map.tiles, map.tenant, () => breakDown(true))
      setBase(laid)
    }).catch(() => breakDown(true))
    return () => {
      ended = true
      laid?.remove()
    }
  }, [])
  useEffect(() => { if (base && view) base.show(view) }, [base, view])
  return { box, over: base !== null, broken }
}

export function Canvas({ scene, chosen, choose, ready, moment, place }: { scene: Scene; chosen: string | null
  choose: (id: string | null) => void; ready: boolean; moment?: number; place?: (at: Place) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [view, setView] = useState<View | null>(null)
  const moved = useRef({ from: new Map<string, Place>(), shown: [] as Marker[], since: 0 })
  const drag = useRef<{ x: number; y: number; far: number } | null>(null)
  const { box, over, broken } = useBase(view)
  const fit = () => canvas.current && setView(fitting(scene, canvas.current.clientWidth, canvas.current.clientHeight))
  useEffect(() => {
    if (ready && view === null) fit()
  }, [ready, scene])
  useEffect(() => {
    moved.current.from = new Map(moved.current.shown.map(d => [d.id, d]))
    moved.current.since = performance.now()
  }, [scene.drivers])
  useEffect(() => {
    let frame = 0
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches
    const paint = () => {
      const part = still ? 1 : Math.min(1, (performance.now() - moved.current.since) / every)
      moved.current.shown = between(moved.current.from, scene.drivers, part)
      if (canvas.current?.isConnected && view) draw(canvas.current, { ...scene, drivers: moved.current.shown }, view, chosen, over)
      if (part < 1) frame = requestAnimationFrame(paint)
    }
    frame = requestAnimationFrame(paint)
    const resized = new ResizeObserver(() => { frame = requestAnimationFrame(paint) })
    if (canvas.current) resized.observe(canvas.current)
    return () => {
      cancelAnimationFrame(frame)
      resized.disconnect()
    }
  }, [scene, view, chosen, over, moment])
  const zoom = (factor: number) => setView(v => v && { ...v, scale: Math.min(2e6, Math.max(2, v.scale * factor)) })
  const pan = (x: number, y: number) => setView(v => v && pannedBy(v, x, y))
  const pick = (event: PointerEvent) => {
    const { clientWidth, clientHeight } = canvas.current!
    if (place) return view && place(placeAt(view, clientWidth, clientHeight, event.offsetX, event.offsetY))
    const near = view && scene.drivers.find(d => {
      const [x, y] = project(view, clientWidth, clientHeight, d)
      return Math.hypot(x - event.offsetX, y - event.offsetY) < 12
    })
    if (near) location.hash = `#/drivers/${near.id}`
    else choose(null)
  }
  const keys: Record<string, () => void> = { '+': () => zoom(1.5), '-': () => zoom(1 / 1.5), ArrowLeft: () => pan(60, 0),
    ArrowRight: () => pan(-60, 0), ArrowUp: () => pan(0, 60), ArrowDown: () => pan(0, -60) }
  return <div class="map">
    <div class="base" ref={box} aria-hidden="true" />
    <canvas ref={canvas} role="img" aria-label={say('mapLabel')} tabIndex={0}
      onKeyDown={e => { const key = keys[e.key]; if (key) { e.preventDefault(); key() } }}
      onWheel={e => { e.preventDefault(); zoom(e.deltaY < 0 ? 1.2 : 1 / 1.2) }}
      onPointerDown={e => { drag.current = { x: e.clientX, y: e.clientY, far: 0 }; e.currentTarget.setPointerCapture(e.pointerId) }}
      onPointerMove={e => {
        if (drag.current === null) return
        const [x, y] = [e.clientX - drag.current.x, e.clientY - drag.current.y]
        pan(x, y)
        drag.current = { x: e.clientX, y: e.clientY, far: drag.current.far + Math.hypot(x, y) }
      }}
      onPointerCancel={() => { drag.current = null }}
      onPointerUp={e => {
        const click = drag.current !== null && drag.current.far < 6 // else the map was moved
        drag.current = null
        if (click) pick(e)
      }} />
    <div class="controls">
      <button type="button" onClick={() => zoom(1.5)} aria-label={say('zoomIn')}>+</button>
      <button type="button" onClick={() => zoom(1 / 1.5)} aria-label={say('zoomOut')}>−</button>
      <button type="button" onClick={fit}>{say('fit')}</button>
    </div>
    {broken && <p class="problem" role="status">{say('noMap')}</p>}
    {map.credit && <small class="credit">{map.credit}</small>}
  </div>
}
