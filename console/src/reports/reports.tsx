// Reports: trips by status, revenue and drivers online, by day and by hour, as charts with
// the table beside each.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { api, good, type Schemas } from '../app/api'
import { Field, Problem } from '../app/ui'
import { usePolled } from '../app/use'
import { count, money, say, state } from '../app/words'

type Report = Schemas['ReportSummary']

const summary = (from: string, to: string) => good(api.GET('/api/v1/reports/summary', { params: { query: { from, to } } }))

// date returns the day that is n days after another, as 2026-01-31.
function date(day: string, n: number): string {
  const at = new Date(`${day}T12:00:00Z`)
  at.setUTCDate(at.getUTCDate() + n)
  return at.toISOString().slice(0, 10)
}

// inTurn reads a few reports at a time.
async function inTurn<T, R>(all: T[], read: (one: T) => Promise<R>): Promise<R[]> {
  const out: R[] = []
  for (let i = 0; i < all.length; i += 4) out.push(...await Promise.all(all.slice(i, i + 4).map(read)))
  return out
}

export function Reports() {
  const today = new Date().toLocaleDateString('sv') // 2026-01-31
  const [to, setTo] = useState(today)
  const [length, setLength] = useState(7)
  const from = date(to, 1 - length)
  const all = usePolled(() => summary(from, to), [from, to], 30_000)
  const days = useMemo(() => Array.from({ length }, (_, i) => date(from, i)), [from, length])
  const perDay = usePolled(() => inTurn(days, day => summary(day, day)), [from, to], 120_000)
  const start = all.data && length === 1 ? all.data.window.from : null
  const hours = useMemo(() => start === null ? [] : Array.from({ length: 24 }, (_, i) => Date.parse(start) + i * 3600_000), [start])
  const perHour = usePolled(() => inTurn(hours, at => summary(new Date(at).toISOString(), new Date(at + 3600_000).toISOString())),
    [start], 120_000)
  const r = all.data
  return <section class="reports">
    <h1>{say('reports')}</h1>
    <div class="filters">
      {([[1, 'today'], [7, 'days7'], [30, 'days30']] as const).map(([n, name]) =>
        <button key={n} aria-pressed={length === n} onClick={() => setLength(n)}>{say(name)}</button>)}
      <Field name={say('to')} type="date" value={to} change={value => value && setTo(value)} />
      <button onClick={() => window.print()}>{say('print')}</button>
    </div>
    <Problem failure={all.failure ?? perDay.failure} />
    {r && <div class="numbers"><span>{say('completed')} <b>{count(r.completedTrips)}</b></span>
      <span>{say('revenue')} <b>{money(r.revenue, r.currency)}</b></span>
      <span>{say('online')} <b>{count(r.activeDrivers)}</b></span>
      <span>{say('customers')} <b>{count(r.totalCustomers)}</b></span></div>}
    {r && <><h2>{say('byStatus')}</h2><table class="plain"><tbody>{Object.entries(r.tripsByStatus).map(([status, n]) =>
      <tr key={status}><th scope="row">{state(status)}</th><td class="number">{count(n)}</td>
        <td><meter max={Math.max(1, ...Object.values(r.tripsByStatus))} value={n} aria-label={state(status)} /></td></tr>)}
    </tbody></table></>}
    {r && length > 1 && <Chart title={say('perDay')} name={say('day')} labels={days} reports={perDay.data} currency={r.currency} />}
    {r && length === 1 && <Chart title={say('perHour')} name={say('hour')} currency={r.currency}
      labels={hours.map(at => new Date(at).toLocaleTimeString(navigator.language, { timeStyle: 'short' }))} reports={perHour.data} />}
  </section>
}

function Chart({ title, name, labels, reports, currency }: { title: string; name: string; labels: string[]
  reports: Report[] | null; currency: string }) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (box.current === null || reports === null || reports.length !== labels.length) return
    const style = getComputedStyle(document.documentElement)
    const [text, line] = [style.getPropertyValue('--text'), style.getPropertyValue('--main')]
    const axis = { stroke: text, grid: { stroke: style.getPropertyValue('--edge') } }
    const plot = new uPlot({
      width: box.current.clientWidth, height: 220, legend: { show: false }, cursor: { show: false },
      scales: { x: { time: false } },
      axes: [{ ...axis, values: (_, at) => at.map(i => labels[i]?.replace(/^\d{4}-/, '') ?? '') }, axis],
      series: [{}, { stroke: line, fill: line, paths: uPlot.paths.bars!({ size: [0.7] }), points: { show: false } }],
    }, [labels.map((_, i) => i), reports.map(r => r.completedTrips)], box.current)
    const resized = new ResizeObserver(([entry]) => plot.setSize({ width: entry!.contentRect.width, height: 220 }))
    resized.observe(box.current)
    return () => {
      resized.disconnect()
      plot.destroy()
    }
  }, [reports, labels])
  return <figure>
    <figcaption><h2>{title}</h2></figcaption>
    {reports === null ? <p role="status">{say('loading')}</p> : <div class="beside">
      <div class="chart" ref={box} aria-hidden="true" />
      <div class="scroll" tabIndex={0} role="group" aria-label={title}><table class="plain">
        <thead><tr><th scope="col">{name}</th><th scope="col" class="number">{say('completed')}</th>
          <th scope="col" class="number">{say('revenue')}</th></tr></thead>
        <tbody>{reports.map((r, i) => <tr key={labels[i]}><th scope="row">{labels[i]}</th>
          <td class="number">{count(r.completedTrips)}</td><td class="number">{money(r.revenue, currency)}</td></tr>)}</tbody>
      </table></div></div>}
  </figure>
}
