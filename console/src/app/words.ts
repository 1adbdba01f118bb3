// Words, numbers and times in the person's language.
import { en, enWords, type Strings, type Words } from '../strings/en'
import { es, esWords } from '../strings/es'

const languages: Record<string, [Strings, Words]> = { en: [en, enWords], es: [es, esWords] }
const chosen = navigator.languages.map(tag => tag.split('-')[0]!.toLowerCase()).find(tag => tag in languages) ?? 'en'
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
