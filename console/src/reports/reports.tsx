// Reports: trips by status, revenue and drivers online, by day and by hour, as charts with
// the table beside each.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { api, good, type Schemas } from '../app/api'
import { Field, Problem, Progress } from '../app/ui'
import { usePolled } from '../app/use'
import { count, day, money, say, show, state } from '../app/words'
import { statuses } from '../trips/columns'

type Report = Schemas['ReportSummary']

const summary = (from: string, to: string) => good(api.GET('/api/v1/reports/summary', { params: { query: { from, to } } }))

// date returns the day that is n days after another, as 2026-01-31.
function date(day: string, n: number): string {
  const at = new Date(`${day}T12:00:00Z`)
  at.setUTCDate(at.getUTCDate() + n)
  return at.toISOString().slice(0, 10)
}

// useEach reads many reports, a few at a time, and says how far it is.
function useEach<T>(all: T[], read: (one: T) => Promise<Report>) {
  const [done, finish] = useState(0)
  const found = usePolled(async () => {
    const out: Report[] = []
    finish(0)
    for (let i = 0; i < all.length; i += 4) {
      out.push(...await Promise.all(all.slice(i, i + 4).map(read)))
      finish(out.length)
    }
    return out
  }, [all], 120_000)
  return { ...found, done }
}

const mostDays = 92

// lifeOf sorts statuses as a trip goes through them. One that a newer service has comes last.
const lifeOf = (status: string) => (statuses.indexOf(status as Schemas['TripStatus']) + 1) || Infinity

export function Reports() {
  const [to, setTo] = useState(day)
  const [length, setLength] = useState(7)
  const from = date(to, 1 - length)
  const begin = (value: string) => value && setLength(Math.max(1, Math.min(mostDays,
    1 + Math.round((Date.parse(to) - Date.parse(value)) / 86400_000))))
  const all = usePolled(() => summary(from, to), [from, to], 30_000)
  const days = useMemo(() => Array.from({ length }, (_, i) => date(from, i)), [from, length])
  const perDay = useEach(days, one => summary(one, one))
  const bounds = length === 1 ? all.data?.window : undefined
  const [start, end] = [bounds?.from, bounds?.to]
  // The day on which clocks change has 23 or 25 hours.
  const hours = useMemo(() => start === undefined || end === undefined ? []
    : Array.from({ length: Math.round((Date.parse(end) - Date.parse(start)) / 3600_000) }, (_, i) => Date.parse(start) + i * 3600_000),
  [start, end])
  const perHour = useEach(hours, at => summary(new Date(at).toISOString(), new Date(at + 3600_000).toISOString()))
  const clocks = useMemo(() => hours.map(at => show(at, { timeStyle: 'short' })), [hours])
  const r = all.data
  return <section class="reports">
    <h1>{say('reports')}</h1>
    <div class="filters">
      {([[1, 'today'], [7, 'days7'], [30, 'days30']] as const).map(([n, name]) =>
        <button key={n} aria-pressed={length === n} onClick={() => setLength(n)}>{say(name)}</button>)}
      <Field name={say('from')} type="date" value={from} change={begin} />
      <Field name={say('to')} type="date" value={to} change={value => value && setTo(value)} />
      <button onClick={() => window.print()}>{say('print')}</button>
    </div>
    <Problem failure={all.failure ?? perDay.failure ?? perHour.failure} />
    <p class="window">{from} – {to}</p>
    {r && <div class="numbers"><span>{say('completed')} <b>{count(r.completedTrips)}</b></span>
      <span>{say('revenue')} <b>{money(r.revenue, r.currency)}</b></span>
      <span>{say('onlineNow')} <b>{count(r.activeDrivers)}</b></span>
      <span>{say('customers')} <b>{count(r.totalCustomers)}</b></span></div>}
    {r && <><h2>{say('byStatus')}</h2><table class="plain"><tbody>{Object.entries(r.tripsByStatus).sort(([a], [b]) => lifeOf(a) - lifeOf(b)).map(([status, n]) =>
      <tr key={status}><th scope="row">{state(status)}</th><td class="number">{count(n)}</td>
        <td><meter max={Math.max(1, ...Object.values(r.tripsByStatus))} value={n} aria-label={state(status)} /></td></tr>)}
    </tbody></table></>}
    {r && length > 1 && <Chart title={say('perDay')} name={say('day')} labels={days} reports={perDay.data}
      done={perDay.done} currency={r.currency} />}
    {r && length === 1 && <Chart title={say('perHour')} name={say('hour')} currency={r.currency}
      labels={clocks} reports={perHour.data} done={perHour.done} />}
  </section>
}

// Bars is one chart. Its numbers are in the table beside it.
function Bars({ name, labels, values }: { name: string; labels: string[]; values: number[] }) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (box.current === null || values.length !== labels.length) return
    const colour = (name: string) => () => getComputedStyle(document.documentElement).getPropertyValue(name)
    const axis = { stroke: colour('--text'), grid: { stroke: colour('--edge'), width: 1 } }
    const plot = new uPlot({
      width: box.current.clientWidth, height: 200, title: name, legend: { show: false }, cursor: { show: false },
      scales: { x: { time: false, range: () => [-0.6, labels.length - 0.4] }, y: { range: (_, __, most) => [0, Math.max(4, most * 1.05)] } },
      axes: [{ ...axis, values: (_, at) => at.map(i => labels[i]?.replace(/^\d{4}-/, '') ?? '') }, axis],
      series: [{}, { stroke: colour('--main'), fill: colour('--main'), paths: uPlot.paths.bars!({ size: [0.7] }), points: { show: false } }],
    }, [labels.map((_, i) => i), values], box.current)
    const resized = new ResizeObserver(([entry]) => plot.setSize({ width: entry!.contentRect.width, height: 200 }))
    resized.observe(box.current)
    const looks = ['print', '(prefers-color-scheme: dark)'].map(query => matchMedia(query))
    const repaint = () => plot.redraw()
    looks.forEach(look => look.addEventListener('change', repaint))
    return () => {
      looks.forEach(look => look.removeEventListener('change', repaint))
      resized.disconnect()
      plot.destroy()
    }
  }, [values, labels])
  return <div class="chart" ref={box} aria-hidden="true" />
}

function Chart({ title, name, labels, reports, done, currency }: { title: string; name: string; labels: string[]
  reports: Report[] | null; done: number; currency: string }) {
  const completed = useMemo(() => (reports ?? []).map(r => r.completedTrips), [reports])
  const revenue = useMemo(() => (reports ?? []).map(r => r.revenue), [reports])
  return <figure>
    <figcaption><h2>{title}</h2></figcaption>
    {reports === null ? <Progress of={say('loading')} done={done} total={labels.length} /> : <div class="beside">
      <div><Bars name={say('completed')} labels={labels} values={completed} />
        <Bars name={`${say('revenue')} (${currency})`} labels={labels} values={revenue} /></div>
      <div class="scroll" tabIndex={0} role="group" aria-label={title}><table class="plain">
        <thead><tr><th scope="col">{name}</th><th scope="col" class="number">{say('completed')}</th>
          <th scope="col" class="number">{say('revenue')}</th></tr></thead>
        <tbody>{reports.map((r, i) => <tr key={labels[i]}><th scope="row">{labels[i]}</th>
          <td class="number">{count(r.completedTrips)}</td><td class="number">{money(r.revenue, currency)}</td></tr>)}</tbody>
      </table></div></div>}
  </figure>
}
