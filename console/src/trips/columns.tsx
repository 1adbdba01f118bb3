// The columns of every table of trips.
import type { Schemas } from '../app/api'
import type { Column } from '../app/ui'
import { money, say, state, when } from '../app/words'

// statuses in the order of a trip's life.
export const statuses: Schemas['TripStatus'][] = ['PENDING', 'SEARCHING', 'COLLECTING_OFFERS', 'WAITING_CUSTOMER', 'SCHEDULED', 'ASSIGNED',
  'DRIVER_ARRIVED', 'IN_PROGRESS', 'COMPLETED', 'CANCELLED']

export const Badge = ({ word }: { word: string }) => <span class={`badge ${word.toLowerCase()}`}>{state(word)}</span>

// fare is the final fare, or the estimate, marked.
export function fare(trip: Schemas['Trip']): string {
  if (trip.finalFare !== null) return money(trip.finalFare, trip.currency)
  return trip.estimatedFare === null ? '' : `${money(trip.estimatedFare, trip.currency)} (${say('estimated')})`
}

export const tripColumns: Column<Schemas['Trip']>[] = [
  { name: say('code'), cell: t => t.tripCode },
  { name: say('status'), cell: t => <Badge word={t.status} /> },
  { name: say('origin'), cell: t => t.originAddress },
  { name: say('destination'), cell: t => t.destAddress },
  { name: say('requested'), cell: t => when(t.requestedAt) },
  { name: say('fare'), cell: fare, number: true },
]
