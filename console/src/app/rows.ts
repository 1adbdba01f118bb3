// A list that was read page by page, as it is shown. Any page can be read again later.
export interface Page<T> {
  items: T[]
  next_cursor: string | null
}

interface Row<T> {
  item: T
  from?: string // the cursor of a page that begins with this row
}

export interface Rows<T> {
  rows: Row<T>[]
  next: string | null // the cursor of the page that follows, null at the end
}

// first is the cursor of the first page.
export const first = ''

export const none = { rows: [], next: first }

type Named = { id: string }

// put takes over a page that was read from a cursor. What it covers and does not have any
// more has left the list. If it does not reach what follows, that is dropped: nobody knows
// what is between.
export function put<T extends Named>(old: Rows<T>, from: string, page: Page<T>): Rows<T> {
  const ids = new Set(page.items.map(item => item.id))
  let at = from === first ? 0 : old.rows.findIndex(row => row.from === from)
  if (at < 0) at = from === old.next ? old.rows.length : old.rows.findIndex(row => ids.has(row.item.id))
  if (at < 0) return old // its rows were dropped meanwhile
  const others = (rows: Row<T>[]) => rows.filter(row => !ids.has(row.item.id))
  const fresh = page.items.map((item, i): Row<T> => i === 0 ? { item, from } : { item })
  const before = [...others(old.rows.slice(0, at)), ...fresh]
  let end = old.rows.findIndex((row, i) => i >= at && row.from === page.next_cursor)
  if (end < 0) {
    const last = old.rows.findLastIndex((row, i) => i >= at && i < at + 2 * page.items.length && ids.has(row.item.id))
    end = last < 0 ? old.rows.length : last + 1
  }
  const [follows, ...rest] = page.next_cursor === null ? [] : others(old.rows.slice(end))
  if (follows === undefined) return { rows: before, next: page.next_cursor }
  return { rows: [...before, { ...follows, from: page.next_cursor! }, ...rest], next: old.next }
}

// pageOf returns the cursor of the page that has a row.
function pageOf<T extends Named>(list: Rows<T>, id: string): string {
  for (let i = list.rows.findIndex(row => row.item.id === id); i >= 0; i--) {
    const from = list.rows[i]!.from
    if (from !== undefined) return from
  }
  return first
}

// further reads from a cursor until there is something, because a page of a filtered list
// may be empty.
export async function further<T>(read: (cursor: string | undefined) => Promise<Page<T>>, from: string): Promise<Page<T>> {
  let page = await read(from || undefined)
  for (let i = 0; i < 10 && page.items.length === 0 && page.next_cursor !== null; i++) page = await read(page.next_cursor)
  return page
}

const mostPages = 5

// current reads the first page and those with the rows in view.
export async function current<T extends Named>(read: (cursor: string | undefined) => Promise<Page<T>>, list: Rows<T>,
  view: string[]): Promise<[string, Page<T>][]> {
  const pages = new Map([[first, await further(read, first)]])
  const met = new Set(pages.get(first)!.items.map(item => item.id))
  for (const id of view) {
    let from: string | null = pageOf(list, id)
    while (!met.has(id) && from !== null && (pages.has(from) || pages.size < mostPages)) { // the row may have moved on
      const page: Page<T> = pages.get(from) ?? await further(read, from)
      pages.set(from, page)
      for (const item of page.items) met.add(item.id)
      from = page.next_cursor
    }
  }
  return [...pages]
}
