// Booking a ride for somebody who calls.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { api, good, type Schemas } from '../app/api'
import { Field, Question } from '../app/ui'
import { useDraft, useOnce, usePolled } from '../app/use'
import { say } from '../app/words'
import { allDrivers, Canvas, marker } from '../map/map'
import type { Place } from '../map/draw'

// A phone number that is typed books for the rider who has it, or for a new one.
const isPhone = (text: string) => /^\+?[\d\s().\/-]{6,}$/.test(text.trim())

export function Booking({ close, done }: { close: () => void; done: (id: string) => void }) {
  const [who, setWho, forgetWho] = useDraft('book who')
  const [rider, setRider] = useState<Schemas['Customer'] | null>(null)
  const [origin, setOrigin, forgetOrigin] = useDraft('book origin')
  const [lat, setLat, forgetLat] = useDraft('book lat')
  const [lng, setLng, forgetLng] = useDraft('book lng')
  const [dest, setDest, forgetDest] = useDraft('book dest')
  const [destLat, setDestLat, forgetDestLat] = useDraft('book dest lat')
  const [destLng, setDestLng, forgetDestLng] = useDraft('book dest lng')
  const [name, setName, forgetName] = useDraft('book name')
  const [service, setService, forgetService] = useDraft('book service')
  const [notes, setNotes, forgetNotes] = useDraft('book notes')
  const [found, setFound] = useState<Schemas['Customer'][]>([])
  const services = usePolled(() => good(api.GET('/api/v1/services')), [], 300_000)
  const [placing, place] = useState<'origin' | 'dest'>('origin')
  const zones = usePolled(() => good(api.GET('/api/v1/zones')), [], 300_000)
  const drivers = usePolled(allDrivers, [], 300_000)
  const at = (a: string, b: string): Place | null => a && b ? { lat: Number(a), lng: Number(b) } : null
  const from = at(lat, lng)
  const scene = useMemo(() => ({ zones: zones.data?.items ?? [], drivers: (drivers.data ?? []).flatMap(marker),
    rides: from ? [{ id: '', label: '', status: 'PENDING' as const, from, to: at(destLat, destLng) }] : [] }),
  [zones.data, drivers.data, lat, lng, destLat, destLng])
  const put = ({ lat: y, lng: x }: Place) => {
    const [a, b] = [y.toFixed(5), x.toFixed(5)]
    if (placing === 'dest') [setDestLat(a), setDestLng(b)]
    else [setLat(a), setLng(b), place('dest')]
  }
  const phone = rider === null && isPhone(who)
  const sendOnce = useOnce() // one ride, however often the button is pressed
  useEffect(() => {
    const timer = window.setTimeout(() => {
      if (rider || who.trim().length < 2) return setFound([])
      good(api.GET('/api/v1/customers', { params: { query: { q: who.trim(), limit: 5 } } }))
        .then(page => setFound(page.items)).catch(() => setFound([]))
    }, 250)
    return () => window.clearTimeout(timer)
  }, [who, rider])
  let made = ''
  const send = () => sendOnce(async key => {
    if (rider === null && !phone) throw new Error(say('chooseRider'))
    const trip = await good(api.POST('/api/v1/trips', { params: key, body: { originAddress: origin,
      ...(rider ? { customerId: rider.id } : { phone: who.trim(), ...(name ? { name } : {}) }),
      originLat: Number(lat), originLng: Number(lng), paymentType: 'CASH', ...(dest ? { destAddress: dest } : {}),
      ...(destLat && destLng ? { destLat: Number(destLat), destLng: Number(destLng) } : {}),
      ...(service ? { serviceTypeId: service } : {}), ...(notes ? { notes } : {}) } }))
    made = trip.id
  })
  const finish = () => {
    for (const forget of [forgetWho, forgetOrigin, forgetLat, forgetLng, forgetDest, forgetDestLat, forgetDestLng, forgetName,
      forgetService, forgetNotes]) forget()
    close()
    done(made)
  }
  return <Question title={say('book')} action={send} done={finish} close={close}>
    <Field name={say('phoneOrMail')} value={rider ? `${rider.name} · ${rider.phone ?? rider.email}` : who} required
      change={text => { setRider(null); setWho(text) }} />
    {found.length > 0 && <ul class="found">{found.map(c => <li key={c.id}>
      <button type="button" onClick={() => { setRider(c); setFound([]) }}>{c.name} <small>{c.phone ?? c.email}</small></button>
    </li>)}</ul>}
    {phone && <Field name={say('newRider')} value={name} change={setName} />}
    <div class="buttons">{(['origin', 'dest'] as const).map(end => <button key={end} type="button" aria-pressed={placing === end}
      onClick={() => place(end)}>{say(end === 'origin' ? 'placeOrigin' : 'placeDest')}</button>)}</div>
    <div class="one"><Canvas scene={scene} chosen={null} choose={() => undefined} place={put}
      ready={[zones, drivers].every(one => one.data ?? one.failure)} /></div>
    <Field name={say('origin')} value={origin} change={setOrigin} required />
    <div class="pair"><Field name={say('lat')} type="number" step="any" value={lat} change={setLat} required />
      <Field name={say('lng')} type="number" step="any" value={lng} change={setLng} required /></div>
    <Field name={say('destination')} value={dest} change={setDest} />
    <div class="pair"><Field name={say('destLat')} type="number" step="any" value={destLat} change={setDestLat} />
      <Field name={say('destLng')} type="number" step="any" value={destLng} change={setDestLng} /></div>
    <label class="field">{say('service')}
      <select value={service} onChange={e => setService(e.currentTarget.value)}>
        <option value="">{say('none')}</option>
        {(services.data?.items ?? []).map(s => <option key={s.id} value={s.id}>{s.name}</option>)}
      </select></label>
    <Field name={say('notes')} value={notes} change={setNotes} />
  </Question>
}
