// Hooks: data that is read again and again, and the words of the page.
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Failure, once } from './api'
import { live, useFeed } from './feed'
import { current, further, none, put, type Page, type Rows } from './rows'

export interface Shown<T> {
  data: T | null
  failure: Failure | null
  again: () => Promise<void> // ends when it has been read again, or could not be
}

// usePolled reads now and every interval while the page is visible. After a failure
// it keeps the old data and waits longer each time. An answer that comes after a later
// one, or for other inputs, is dropped. Events whose type begins with a prefix of about
// make it read at once; while they come, it seldom reads without one, unless what it found
// moves: no event tells of a position.
export function usePolled<T>(read: () => Promise<T>, inputs: unknown[], interval: number, about: string[] = [],
  moves: (found: T) => boolean = () => false): Shown<T> {
  const [data, setData] = useState<T | null>(null)
  const [failure, setFailure] = useState<Failure | null>(null)
  const [asked, ask] = useState(0)
  const latest = useRef(0)
  const waiting = useRef<(() => void)[]>([])
  const again = useCallback(() => new Promise<void>(done => {
    waiting.current.push(done)
    ask(n => n + 1)
  }), [])
  useFeed(about, again)
  useEffect(() => setData(null), inputs)
  useEffect(() => {
    let timer = 0
    let wait = interval
    let ended = false
    let seldom = about.length > 0
    let asking = waiting.current.splice(0)
    const tell = () => {
      asking.forEach(done => done())
      asking = []
    }
    const turn = async () => {
      if (!document.hidden) {
        const mine = ++latest.current
        try {
          const found = await read()
          if (ended || mine !== latest.current) return
          setData(found)
          setFailure(null)
          tell()
          wait = interval
          seldom = about.length > 0 && !moves(found)
        } catch (error) {
          if (ended) return
          setFailure(error instanceof Failure ? error : new Failure(0, 'offline', String(error), ''))
          tell()
          wait = Math.min(wait * 2, 30_000)
        }
      }
      timer = window.setTimeout(() => void turn(), live() && seldom ? Math.max(wait, 15_000) : wait)
    }
    void turn()
    return () => {
      ended = true
      window.clearTimeout(timer)
      waiting.current.push(...asking) // the next run reads for them
    }
  }, [...inputs, asked])
  return { data, failure, again }
}

// usePages reads a list page by page. The first page and those in view are read again every
// interval and when the view moves: what is new is put in front, what changed is replaced,
// and what is gone leaves.
export function usePages<T extends { id: string }>(read: (cursor: string | undefined) => Promise<Page<T>>,
  inputs: unknown[], interval: number, about: string[] = []) {
  const [list, setList] = useState<Rows<T> | null>(null)
  const [failure, setFailure] = useState<Failure | null>(null)
  const shown = useRef<Rows<T>>(none)
  shown.current = list ?? none
  const view = useRef<string[]>([])
  const asked = useRef<string[]>([]) // what was in view at the last turn
  const moved = useRef(0)
  const kept = useRef({}) // another object for other inputs
  const busy = useRef(false)
  const turn = usePolled(() => {
    asked.current = view.current
    return current(read, shown.current, view.current)
  }, inputs, interval, about)
  useEffect(() => {
    kept.current = {}
    setList(null)
  }, inputs)
  useEffect(() => {
    if (turn.data) setList(old => turn.data!.reduce((rows, [from, page]) => put(rows, from, page), old ?? none))
  }, [turn.data])
  useEffect(() => () => window.clearTimeout(moved.current), [])
  const next = list?.next ?? null
  const load = useCallback(async () => {
    if (next === null || busy.current) return
    busy.current = true
    const mine = kept.current
    try {
      const page = await further(read, next)
      if (mine === kept.current) setList(old => old && put(old, next, page))
      setFailure(null)
    } catch (error) {
      setFailure(error as Failure)
    } finally {
      busy.current = false
    }
  }, [next, ...inputs])
  const see = useCallback((items: T[]) => {
    view.current = items.map(item => item.id)
    window.clearTimeout(moved.current)
    if (asked.current.length === 0 || view.current.some(id => asked.current.includes(id))) return
    moved.current = window.setTimeout(turn.again, 250)
  }, [turn.again])
  return { items: list && list.rows.map(row => row.item), failure: turn.failure ?? failure, more: next !== null, load, see,
    again: turn.again }
}

// useRoute returns the parts of the address after "#/".
export function useRoute(): string[] {
  const parts = () => location.hash.replace(/^#\/?/, '').split('/').map(decodeURIComponent)
  const [route, setRoute] = useState(parts)
  useLayoutEffect(() => { // before the page can be used: a change of address is not missed
    const changed = () => setRoute(parts())
    window.addEventListener('hashchange', changed)
    return () => window.removeEventListener('hashchange', changed)
  }, [])
  return route
}

// useOnce sends a change so that a repeat does not make it twice. What was refused may be
// sent anew: the service keeps its refusals too.
export function useOnce() {
  const key = useRef(once())
  return async <T>(send: (key: ReturnType<typeof once>) => Promise<T>): Promise<T> => {
    try {
      return await send(key.current)
    } catch (error) {
      if (error instanceof Failure && error.status >= 400 && error.status < 500 && error.status !== 401) key.current = once()
      throw error
    }
  }
}

// useSettled returns a value after it has not changed for a moment, so that typing
// sends few requests.
export function useSettled<T>(value: T): T {
  const [settled, settle] = useState(value)
  useEffect(() => {
    const timer = window.setTimeout(() => settle(value), 250)
    return () => window.clearTimeout(timer)
  }, [value])
  return settled
}

// useDraft is a text that survives an expired session: it is kept in this tab until it
// is sent.
export function useDraft(key: string, start = ''): [string, (value: string) => void, () => void] {
  const stored = 'draft ' + key
  const [value, set] = useState(() => sessionStorage.getItem(stored) ?? start)
  const change = (next: string) => {
    set(next)
    sessionStorage.setItem(stored, next)
  }
  return [value, change, () => sessionStorage.removeItem(stored)]
}
