// Words, numbers and times in the person's language.
import { en, enWords, type Strings, type Words } from '../strings/en'
import { es, esWords } from '../strings/es'
import { tag } from './tag'

const languages: Record<string, [Strings, Words]> = { en: [en, enWords], es: [es, esWords] }
const chosen = navigator.languages.map(one => one.split(/[-_.@]/)[0]!.toLowerCase()).find(one => one in languages) ?? 'en'
document.documentElement.lang = chosen
const [strings, words]: [Strings, Record<string, string>] = languages[chosen]!

// say returns a text, with its {values} replaced.
export function say(key: keyof Strings, values: Record<string, string | number> = {}): string {
  return strings[key].replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''))
}

// state returns a word of the API as people write it. One that a newer service has
// stays readable: IN_PROGRESS becomes "In progress".
export const state = (word: string) => words[word] ?? word.charAt(0) + word.slice(1).toLowerCase().replaceAll('_', ' ')

export const money = (amount: number, currency: string) =>
  new Intl.NumberFormat(tag, { style: 'currency', currency }).format(amount)

// clock is the company's: its time zone, and how far the service's time is ahead of this
// computer's, in milliseconds.
export const clock = { zone: Intl.DateTimeFormat().resolvedOptions().timeZone, ahead: 0 }

// day returns the company's day of a time, as 2026-01-31.
export const day = (at: Date | number = Date.now() + clock.ahead) =>
  new Intl.DateTimeFormat('sv', { timeZone: clock.zone }).format(at)

// show writes a time as a clock in the company shows it.
export const show = (at: Date | number, form: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat(tag, { ...form, timeZone: clock.zone }).format(at)

export function when(time: string): string {
  const at = new Date(time)
  return show(at, day(at) === day() ? { timeStyle: 'medium' } : { dateStyle: 'medium', timeStyle: 'short' })
}

export const count = (n: number) => new Intl.NumberFormat(tag).format(n)
