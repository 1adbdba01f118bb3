// The parts of the console that need no browser: lists that are read again, and languages.
import assert from 'node:assert'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import ts from 'typescript'

// load loads a module anew for each name.
const load = (file, name = '') => import('data:text/javascript,' + encodeURIComponent(ts.transpileModule(readFileSync(
  new URL('../src/app/' + file, import.meta.url), 'utf8'), { compilerOptions: { target: 'ES2023', module: 'ESNext' } }).outputText +
  '// ' + name))

const { current, further, none, put } = await load('rows.ts')

// service is a list of the newest first, and a console that shows it.
function service(n) {
  const s = { data: [], list: none, reads: 0 }
  for (let i = 0; i < n; i++) s.data.push({ id: String(9000 - i), v: 0 })
  const read = async cursor => {
    s.reads++
    const at = cursor ? s.data.findIndex(d => d.id < cursor) : 0
    const items = at < 0 ? [] : s.data.slice(at, at + 100).map(d => ({ ...d }))
    return { items, next_cursor: at >= 0 && at + 100 < s.data.length ? items.at(-1).id : null }
  }
  s.turn = async view => {
    for (const [from, page] of await current(read, s.list, view)) s.list = put(s.list, from, page)
  }
  s.more = async () => { s.list = put(s.list, s.list.next, await further(read, s.list.next)) }
  s.add = id => { if (s.data.every(d => d.id !== id)) s.data.push({ id, v: 0 }); s.data.sort((a, b) => a.id < b.id ? 1 : -1) }
  s.ids = () => s.list.rows.map(row => row.item.id)
  return s
}

test('a row beyond the first page is read again', async () => {
  const s = service(350)
  await s.turn([])
  for (let i = 0; i < 3; i++) await s.more()
  s.data[320].v = 1
  s.reads = 0
  await s.turn(s.ids().slice(310, 330))
  assert.equal(s.list.rows[320].item.v, 1)
  assert.equal(s.reads, 2)
})

test('more new rows than a page has leave no gap', async () => {
  const s = service(300)
  await s.turn([])
  await s.more()
  for (let i = 0; i < 150; i++) s.add(String(9100 + i))
  await s.turn([])
  await s.more()
  assert.deepEqual(s.ids(), s.data.slice(0, 200).map(d => d.id))
})

test('whatever happens, what is in view is right, and nothing is missing or twice', async () => {
  const s = service(400)
  let seed = 1
  const random = n => (seed = seed * 48271 % 2147483647) % n
  await s.turn([])
  for (let n = 0; n < 3000; n++) {
    const what = random(10)
    if (what < 2 && s.data.length > 50) s.data.splice(random(s.data.length), 1)
    else if (what < 4) s.data[random(s.data.length)].v++
    else if (what < 5) s.add(String(9100 + n))
    else if (what < 6) s.add(s.data[random(s.data.length)].id + 'a')
    else if (what < 7 && s.list.next !== null) await s.more()
    const at = random(s.list.rows.length)
    const view = s.ids().slice(at, at + 30)
    await s.turn(view)
    const ids = s.ids()
    const sorted = [...new Set(ids)].sort((a, b) => a < b ? 1 : -1)
    assert.deepEqual(ids, sorted)
    for (const id of view) {
      const is = s.data.find(d => d.id === id)
      const row = s.list.rows.find(r => r.item.id === id)
      assert.equal(row?.item.v, row && is?.v, `${id} in turn ${n}`)
    }
  }
})

test('pages of a filtered list may be empty', async () => {
  const pages = [[], [], [], [{ id: 'x' }], [{ id: 'w' }]]
  const read = async c => ({ items: pages[Number(c ?? 0)], next_cursor: Number(c ?? 0) < 4 ? String(Number(c ?? 0) + 1) : null })
  let list = none
  const turn = async view => { for (const [from, page] of await current(read, list, view)) list = put(list, from, page) }
  await turn([])
  list = put(list, list.next, await further(read, list.next))
  await turn(['w'])
  assert.deepEqual(list.rows.map(row => row.item.id), ['x', 'w'])
})

test('Intl takes every language tag', async () => {
  for (const [given, want] of Object.entries({ 'en-US@posix': 'en-US', C: 'en', '': 'en', 'de_DE.UTF-8': 'de-DE', 'pt-BR': 'pt-BR' })) {
    Object.defineProperty(globalThis, 'navigator', { value: Object.create({ get language() { return given } }), configurable: true })
    const { tag } = await load('tag.ts', given)
    assert.equal(tag, want)
    assert.equal(new Intl.NumberFormat(navigator.language).resolvedOptions().locale.slice(0, 2), want.slice(0, 2))
  }
})

test("the company's colour can be read on each ground", async () => {
  const { shades } = await load('colour.ts')
  const light = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16) / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0)
  const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05)
  const sheet = readFileSync(new URL('../src/style.css', import.meta.url), 'utf8')
  const [back, panel] = ['back', 'panel'].map(name => [...sheet.matchAll(`--${name}: (#\\w+);`)]
    .map(([, value]) => value.length === 4 ? '#' + [...value.slice(1)].map(c => c + c).join('') : value))
  for (let n = 0; n < 4096; n++) {
    const colour = '#' + n.toString(16).padStart(3, '0')
    const got = shades(colour)
    const pairs = [[got['on-company'], got.company]]
    for (const [i, scheme] of ['light', 'dark'].entries()) {
      const main = got[`${scheme}-main`]
      pairs.push([main, back[i]], [main, panel[i]], [got[`on-${scheme}-main`], main])
    }
    for (const [a, b] of pairs) assert.ok(ratio(a, b) >= 4.5, `${colour}: ${a} on ${b}`)
  }
  assert.equal(shades('#0B5FFF')['light-main'], '#0b5fff') // readable as it is
  assert.equal(shades('#ffff').company, '#ffffff')
  assert.deepEqual(shades('#ffffff10'), shades('#fff'))
  for (const bad of [null, undefined, '', 'red', 'fff', '#12345', '#1234567', '#ggg', '#fff;', '#123456789']) assert.deepEqual(shades(bad), {})
})
