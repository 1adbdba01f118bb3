// Parts that every view uses: errors, tables that load as one scrolls, questions.
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Failure } from './api'
import { signIn } from './session'
import { count, say } from './words'

// explain says what happened and what to do.
function explain(failure: Failure): string {
  switch (failure.status) {
    case 0: return say('offline')
    case 401: return say('expired')
    case 403: return say('forbidden', { permission: failure.permission })
    case 404: return say('missing')
    case 409: return failure.message || say('conflict')
    case 412: return say('conflict')
    case 429: case 503: return say('busy')
    default: return say('failed', { text: [failure.message,
      ...failure.details.filter(d => !failure.message.includes(d.message)).map(d => `${d.field}: ${d.message}`)].join(' ') })
  }
}

export function Problem({ failure }: { failure: Failure | null }) {
  if (failure === null) return null
  return <p class="problem" role="alert">{explain(failure)}
    {failure.request && <small> {say('request', { id: failure.request })}</small>}
    {failure.status === 401 && <button onClick={() => void signIn()}>{say('signIn')}</button>}
  </p>
}

// Progress says how far long work is.
export const Progress = ({ of, done, total }: { of: string; done: number; total: number }) =>
  <p class="progress" role="status"><label>{of} <progress max={total} value={done} /></label> {count(done)} / {count(total)}</p>

export interface Column<T> {
  name: string
  cell: (item: T) => ComponentChildren
  number?: boolean
}

const rowHeight = 44
const spare = 10 // rows drawn above and below what is visible

// List is a table of any length: only the rows in view are in the document. It asks for
// the next page when its end comes near, and says which rows are in view.
export function List<T extends { id: string }>({ label, items, columns, href, more, load, see }: {
  label: string
  items: T[] | null
  columns: Column<T>[]
  href?: (item: T) => string
  more?: boolean
  load?: () => void
  see?: (items: T[]) => void
}) {
  const box = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(600)
  useEffect(() => {
    const watch = new ResizeObserver(() => setHeight(box.current?.clientHeight ?? 600))
    if (box.current) watch.observe(box.current)
    return () => watch.disconnect()
  }, [items === null])
  const total = items?.length ?? 0
  const begin = Math.max(0, Math.floor(top / rowHeight) - spare)
  const end = Math.min(total, Math.ceil((top + height) / rowHeight) + spare)
  useEffect(() => {
    if (more && end >= total) load?.()
  }, [more, end, total])
  useEffect(() => see?.(items?.slice(begin, end) ?? []), [items, begin, end])
  if (items === null) return <p role="status">{say('loading')}</p>
  if (total === 0) return <p role="status">{say('nothing')}</p>
  return <div class="list" ref={box} tabIndex={0} role="group" aria-label={label}
    onScroll={e => setTop(e.currentTarget.scrollTop)}>
    <table aria-rowcount={more ? -1 : total + 1}>
      <thead><tr>{columns.map(c => <th scope="col" class={c.number ? 'number' : ''} key={c.name}>{c.name}</th>)}</tr></thead>
      <tbody>
        <Gap rows={begin} columns={columns.length} />
        {items.slice(begin, end).map((item, i) => <tr key={item.id} aria-rowindex={begin + i + 2}>
          {columns.map((c, n) => <td key={c.name} class={c.number ? 'number' : ''} data-name={c.name}>
            {n === 0 && href ? <a href={href(item)}>{c.cell(item)}</a> : c.cell(item)}</td>)}</tr>)}
        <Gap rows={total - end} columns={columns.length} />
      </tbody>
    </table>
    {more && <button onClick={load}>{say('more')}</button>}
  </div>
}

function Gap({ rows, columns }: { rows: number; columns: number }) {
  return rows > 0 ? <tr aria-hidden="true"><td colSpan={columns} style={{ height: `${rows * rowHeight}px` }} /></tr> : null
}

// Question asks before something is done. It does it once, and shows why it failed.
export function Question({ title, action, children, done, close }: {
  title: string
  action: () => Promise<unknown>
  children?: ComponentChildren
  done: () => void
  close: () => void
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [failure, setFailure] = useState<Failure | null>(null)
  const [busy, setBusy] = useState(false)
  const sending = useRef(false)
  useLayoutEffect(() => dialog.current?.showModal(), [])
  const leave = () => dialog.current?.close() // the keyboard goes back to where it was
  const submit = async (event: Event) => {
    event.preventDefault()
    if (sending.current) return // a second click before the button is shown as busy
    sending.current = true
    setBusy(true)
    try {
      await action()
      done()
    } catch (error) {
      setFailure(error instanceof Failure ? error : new Failure(400, '', String(error), ''))
      setBusy(false)
      sending.current = false
    }
  }
  return <dialog ref={dialog} onClose={close} aria-labelledby="question">
    <form onSubmit={e => void submit(e)}>
      <h2 id="question">{title}</h2>
      {children}
      <Problem failure={failure} />
      <p class="buttons">
        <button type="button" onClick={leave}>{say('keep')}</button>
        <button class="main" disabled={busy}>{say('confirm')}</button>
      </p>
    </form>
  </dialog>
}

// Field is a labelled input.
export function Field({ name, value, change, type = 'text', required = false, step }: {
  name: string
  value: string
  change: (value: string) => void
  type?: 'text' | 'number' | 'date'
  required?: boolean
  step?: string
}) {
  return <label class="field">{name}
    <input type={type as 'text'} value={value} required={required} {...(step ? { step } : {})}
      onInput={e => change(e.currentTarget.value)} /></label>
}

// Facts is a list of names and values; values that are null are left out.
export function Facts({ of }: { of: [string, ComponentChildren][] }) {
  return <dl class="facts">{of.filter(([, value]) => value !== null && value !== undefined && value !== '')
    .map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
}
