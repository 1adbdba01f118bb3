// Booking a ride for somebody who calls.
import { useEffect, useState } from 'preact/hooks'
import { api, good, type Schemas } from '../app/api'
import { Field, Question } from '../app/ui'
import { useDraft, useOnce, usePolled } from '../app/use'
import { say } from '../app/words'

export function Booking({ close, done }: { close: () => void; done: (id: string) => void }) {
  const [who, setWho, forgetWho] = useDraft('book who')
  const [rider, setRider] = useState<Schemas['Customer'] | null>(null)
  const [origin, setOrigin, forgetOrigin] = useDraft('book origin')
  const [lat, setLat, forgetLat] = useDraft('book lat')
  const [lng, setLng, forgetLng] = useDraft('book lng')
  const [dest, setDest, forgetDest] = useDraft('book dest')
  const [service, setService, forgetService] = useDraft('book service')
  const [notes, setNotes, forgetNotes] = useDraft('book notes')
  const [found, setFound] = useState<Schemas['Customer'][]>([])
  const services = usePolled(() => good(api.GET('/api/v1/services')), [], 300_000)
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
    if (rider === null) throw new Error(say('chooseRider'))
    const trip = await good(api.POST('/api/v1/trips', { params: key, body: { customerId: rider.id, originAddress: origin,
      originLat: Number(lat), originLng: Number(lng), paymentType: 'CASH', ...(dest ? { destAddress: dest } : {}),
      ...(service ? { serviceTypeId: service } : {}), ...(notes ? { notes } : {}) } }))
    made = trip.id
  })
  const finish = () => {
    for (const forget of [forgetWho, forgetOrigin, forgetLat, forgetLng, forgetDest, forgetService, forgetNotes]) forget()
    close()
    done(made)
  }
  return <Question title={say('book')} action={send} done={finish} close={close}>
    <Field name={say('phoneOrMail')} value={rider ? `${rider.name} · ${rider.phone ?? rider.email}` : who} required
      change={text => { setRider(null); setWho(text) }} />
    {found.length > 0 && <ul class="found">{found.map(c => <li key={c.id}>
      <button type="button" onClick={() => { setRider(c); setFound([]) }}>{c.name} <small>{c.phone ?? c.email}</small></button>
    </li>)}</ul>}
    <Field name={say('origin')} value={origin} change={setOrigin} required />
    <div class="pair"><Field name={say('lat')} type="number" step="any" value={lat} change={setLat} required />
      <Field name={say('lng')} type="number" step="any" value={lng} change={setLng} required /></div>
    <Field name={say('destination')} value={dest} change={setDest} />
    <label class="field">{say('service')}
      <select value={service} onChange={e => setService(e.currentTarget.value)}>
        <option value="">{say('none')}</option>
        {(services.data?.items ?? []).map(s => <option key={s.id} value={s.id}>{s.name}</option>)}
      </select></label>
    <Field name={say('notes')} value={notes} change={setNotes} />
  </Question>
}
