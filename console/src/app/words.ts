// Words, numbers and times in the person's language.
import { en, type Strings } from '../strings/en'
import { es } from '../strings/es'

const languages: Record<string, Strings> = { en, es }
const chosen = navigator.languages.map(tag => tag.split('-')[0]!.toLowerCase()).find(tag => tag in languages) ?? 'en'
document.documentElement.lang = chosen
const strings = languages[chosen]!

// say returns a text, with its {words} replaced.
export function say(key: keyof Strings, words: Record<string, string | number> = {}): string {
  return strings[key].replace(/\{(\w+)\}/g, (_, name: string) => String(words[name] ?? ''))
}

// state returns a status as people write it: IN_PROGRESS becomes "In progress".
export const state = (word: string) => word.charAt(0) + word.slice(1).toLowerCase().replaceAll('_', ' ')

export const money = (amount: number, currency: string) =>
  new Intl.NumberFormat(navigator.language, { style: 'currency', currency }).format(amount)

// zone is the company's time zone. The API names it only in a report.
export const zone = { name: Intl.DateTimeFormat().resolvedOptions().timeZone }

export function when(time: string): string {
  const at = new Date(time)
  const sameDay = at.toDateString() === new Date().toDateString()
  return new Intl.DateTimeFormat(navigator.language, sameDay ? { timeStyle: 'medium' }
    : { dateStyle: 'medium', timeStyle: 'short' }).format(at)
}

export const count = (n: number) => new Intl.NumberFormat(navigator.language).format(n)
