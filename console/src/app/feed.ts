// Live changes. While the page is visible the company's feed of events is asked every
// moment: an empty answer costs next to nothing. Views read their lists again when an
// event concerns them.
import { useEffect } from 'preact/hooks'
import { api, Failure, good } from './api'
import { allowed } from './session'

const every = 1500

const listeners = new Map<() => void, string[]>()
let cursor = 'latest'
let asking = false // a turn is under way or waits
let running = false

// live reports whether the feed tells what changes.
export const live = () => running

async function turn() {
  try {
    if (!document.hidden) {
      const page = await good(api.GET('/api/v1/events', { params: { query: { after: cursor, limit: 200 } } }))
      const unknown = cursor === 'latest' // what happened before it, since a view read its list
      cursor = page.cursor
      running = true
      const types = page.items.map(event => event.type)
      for (const [again, about] of listeners) {
        if (unknown || types.some(type => about.some(prefix => type.startsWith(prefix)))) again()
      }
    }
  } catch (error) {
    running = false
    if (error instanceof Failure && error.status === 403) listeners.clear() // this person may not read the feed
    if (error instanceof Failure && error.status === 410) cursor = 'latest'
  }
  asking = listeners.size > 0
  if (asking) window.setTimeout(() => void turn(), every)
}

// useFeed calls again when an event happens whose type begins with one of the prefixes.
export function useFeed(about: string[], again: () => void) {
  useEffect(() => {
    if (about.length === 0 || !allowed('tenant.events:read')) return
    listeners.set(again, about)
    if (!asking) {
      asking = true
      void turn()
    }
    return () => void listeners.delete(again)
  }, [again])
}
