// Drawing the map on a canvas: zones, trips and drivers, over the company's own map or over
// an invented grid of streets, which asks no other host for anything.
import type { Schemas } from '../app/api'
import { clock } from '../app/words'

export interface Place { lat: number; lng: number }

export interface Marker extends Place {
  id: string
  label: string
  status: Schemas['DriverStatus']
  at: number // when the phone measured it, in milliseconds since 1970
}

// A position this old says where a driver was, not where the driver is.
const fresh = 5 * 60_000
export const silent = (driver: Marker) => Date.now() + clock.ahead - driver.at > fresh

export interface Ride {
  id: string
  label: string
  status: Schemas['TripStatus']
  from: Place
  to: Place | null
}

export interface Scene {
  zones: Schemas['Zone'][]
  rides: Ride[]
  drivers: Marker[]
}

// View is the part of the world that is shown: its centre and the pixels of a degree of
// longitude.
export interface View { lat: number; lng: number; scale: number }

// north is Mercator's measure of a latitude, in degrees of longitude. Maps on the web use it.
const radian = Math.PI / 180
const north = (lat: number) => Math.asinh(Math.tan(Math.max(-85, Math.min(85, lat)) * radian)) / radian
const south = (y: number) => Math.atan(Math.sinh(y * radian)) / radian

export const project = (view: View, width: number, height: number, at: Place): [number, number] => [
  width / 2 + (at.lng - view.lng) * view.scale,
  height / 2 - (north(at.lat) - north(view.lat)) * view.scale,
]

// placeAt returns the place of a pixel.
export const placeAt = (view: View, width: number, height: number, x: number, y: number): Place =>
  ({ lat: south(north(view.lat) + (height / 2 - y) / view.scale), lng: view.lng + (x - width / 2) / view.scale })

// moved returns the view after a drag of so many pixels.
export const moved = (view: View, x: number, y: number): View =>
  ({ ...view, lng: view.lng - x / view.scale, lat: south(north(view.lat) + y / view.scale) })

// rings returns the rings of a zone's area, longitude before latitude (RFC 7946).
const rings = (zone: Schemas['Zone']): number[][][] =>
  zone.area.type === 'Polygon' ? zone.area.coordinates as number[][][] : (zone.area.coordinates as number[][][][]).flat()

// fitting returns the view that shows everything of a scene. Drivers who are away or silent may
// be far off: they count only if there is nothing else.
export function fitting(scene: Scene, width: number, height: number): View {
  const near = scene.drivers.filter(d => d.status !== 'OFFLINE' && !silent(d))
  const rest = near.length + scene.rides.length + scene.zones.length === 0 ? scene.drivers : near
  const all: Place[] = [...rest, ...scene.rides.flatMap(r => r.to ? [r.from, r.to] : [r.from]),
    ...scene.zones.flatMap(z => rings(z).flat().map(([lng, lat]) => ({ lng: lng!, lat: lat! })))]
  if (all.length === 0) return { lat: 0, lng: 0, scale: 4 }
  let [bottom, top, west, east] = [Infinity, -Infinity, Infinity, -Infinity]
  for (const p of all) {
    bottom = Math.min(bottom, north(p.lat))
    top = Math.max(top, north(p.lat))
    west = Math.min(west, p.lng)
    east = Math.max(east, p.lng)
  }
  const scale = 0.85 * Math.min(width / Math.max(east - west, 0.01), height / Math.max(top - bottom, 0.01))
  return { lat: south((bottom + top) / 2), lng: (west + east) / 2, scale }
}

// Colours are those of the page's style sheet, each looked up once.
function palette(): (name: string) => string {
  const style = getComputedStyle(document.documentElement)
  const known = new Map<string, string>()
  return name => {
    const found = known.get(name) ?? style.getPropertyValue('--' + name).trim()
    known.set(name, found)
    return found
  }
}

function streets(paint: CanvasRenderingContext2D, view: View, width: number, height: number, colour: string) {
  const step = 2 ** Math.round(Math.log2(90 / view.scale)) // degrees between two streets, some 90 pixels
  paint.strokeStyle = colour
  paint.lineWidth = 1
  paint.beginPath()
  for (let lng = Math.floor((view.lng - width / 2 / view.scale) / step) * step, x = 0; x <= width; lng += step) {
    x = project(view, width, height, { lat: 0, lng })[0]
    paint.moveTo(x, 0)
    paint.lineTo(x, height)
  }
  const middle = north(view.lat)
  for (let at = Math.ceil((middle + height / 2 / view.scale) / step) * step, y = 0; y <= height; at -= step) {
    y = height / 2 - (at - middle) * view.scale
    paint.moveTo(0, y)
    paint.lineTo(width, y)
  }
  paint.stroke()
}

// draw paints a scene, over streets if there is no map below. chosen is the id of the
// marker or ride that is highlighted.
export function draw(canvas: HTMLCanvasElement, scene: Scene, view: View, chosen: string | null, over: boolean) {
  const paint = canvas.getContext('2d')
  if (paint === null) return
  const ratio = window.devicePixelRatio
  const [width, height] = [canvas.clientWidth, canvas.clientHeight]
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio)
    canvas.height = Math.round(height * ratio)
  }
  const colour = palette()
  paint.setTransform(ratio, 0, 0, ratio, 0, 0)
  if (over) {
    paint.clearRect(0, 0, width, height)
  } else {
    paint.fillStyle = colour('land')
    paint.fillRect(0, 0, width, height)
    streets(paint, view, width, height, colour('street'))
  }
  const at = (p: Place) => project(view, width, height, p)
  paint.font = '12px system-ui, sans-serif'
  for (const zone of scene.zones.filter(z => z.active)) {
    paint.beginPath()
    for (const ring of rings(zone)) {
      ring.forEach(([lng, lat], i) => paint[i === 0 ? 'moveTo' : 'lineTo'](...at({ lng: lng!, lat: lat! })))
      paint.closePath()
    }
    paint.fillStyle = colour('zone')
    paint.fill('evenodd')
    paint.strokeStyle = colour('zone-line')
    paint.stroke()
    const [lng, lat] = rings(zone)[0]![0]!
    paint.fillStyle = colour('text')
    const [x, y] = at({ lng: lng!, lat: lat! })
    paint.fillText(zone.name, x + 4, y - 4)
  }
  for (const ride of scene.rides) {
    const [x, y] = at(ride.from)
    paint.strokeStyle = paint.fillStyle = colour(ride.status === 'IN_PROGRESS' ? 'riding' : 'waiting')
    paint.lineWidth = ride.id === chosen ? 4 : 2
    if (ride.to) {
      paint.setLineDash(ride.status === 'IN_PROGRESS' ? [] : [4, 4])
      paint.beginPath()
      paint.moveTo(x, y)
      paint.lineTo(...at(ride.to))
      paint.stroke()
      paint.setLineDash([])
    }
    paint.fillRect(x - 4, y - 4, 8, 8)
  }
  for (const driver of scene.drivers) {
    const [x, y] = at(driver)
    if (x < -20 || y < -20 || x > width + 20 || y > height + 20) continue
    paint.beginPath()
    paint.arc(x, y, driver.id === chosen ? 9 : 6, 0, 2 * Math.PI)
    const old = silent(driver) || driver.status === 'OFFLINE' // a place from before, and no live one
    const own = colour(driver.status === 'ONLINE' ? 'free' : driver.status === 'BUSY' ? 'busy' : 'away')
    paint.fillStyle = old ? colour('land') : own
    paint.fill()
    paint.lineWidth = 2
    paint.strokeStyle = old ? own : colour('land')
    paint.stroke()
  }
}

// between returns the drivers on their way from where they were to where they are now.
export function between(old: Map<string, Place>, now: Marker[], part: number): Marker[] {
  return now.map(driver => {
    const was = old.get(driver.id)
    return was === undefined ? driver : { ...driver, lat: was.lat + (driver.lat - was.lat) * part,
      lng: was.lng + (driver.lng - was.lng) * part }
  })
}
