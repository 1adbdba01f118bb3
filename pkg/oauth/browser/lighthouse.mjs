// Audits pages for accessibility with Lighthouse.
//
// It reads {chrome, pages: [{name, url, headers}]} from standard input and
// writes one line for each page, {name, score, failed: [{id, title, nodes}]}
// or {name, trouble}. Trouble is Lighthouse's or the browser's own, after a few
// attempts, each with a fresh browser; it says nothing about the page.
import {launch} from 'chrome-launcher'
import lighthouse from 'lighthouse'

const attempts = 4
const patience = 180_000 // milliseconds for a page to load or paint
const most = 300_000 // milliseconds for one attempt

const settings = {
  onlyCategories: ['accessibility'],
  output: 'json',
  logLevel: 'silent',
  throttlingMethod: 'simulate', // by arithmetic: nothing is slowed down
  disableFullPageScreenshot: true,
  ignoreStatusCode: true, // an error page is a page too
  pauseAfterFcpMs: 0, // the pages are static: what is loaded is all
  pauseAfterLoadMs: 0,
  networkQuietThresholdMs: 100,
  cpuQuietThresholdMs: 0,
  maxWaitForFcp: patience,
  maxWaitForLoad: patience,
}

let browser

function within(milliseconds, work) {
  let timer
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`no end after ${milliseconds} ms`)), milliseconds) })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

async function start(chromePath) {
  browser ??= await launch({
    chromePath,
    logLevel: 'silent',
    connectionPollInterval: 500,
    maxConnectionRetries: 240,
    chromeFlags: ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
      '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  })
  return browser.port
}

function stop() {
  browser?.kill()
  browser = undefined
}

async function audit(chrome, page) {
  const port = await start(chrome)
  const {lhr} = await lighthouse(page.url, {...settings, port, extraHeaders: page.headers})
  if (lhr.runtimeError) throw new Error(`${lhr.runtimeError.code}: ${lhr.runtimeError.message}`)
  const {score, auditRefs} = lhr.categories.accessibility
  const broken = auditRefs.map(({id}) => lhr.audits[id]).filter(a => a.scoreDisplayMode === 'error')
  if (score === null || broken.length) throw new Error(broken.map(a => `${a.id}: ${a.errorMessage}`).join('; ') || 'no score')
  const failed = auditRefs.filter(({id, weight}) => weight > 0 && lhr.audits[id].score !== null && lhr.audits[id].score < 1)
    .map(({id}) => ({id, title: lhr.audits[id].title, nodes: (lhr.audits[id].details?.items ?? []).map(i => i.node?.snippet ?? '')}))
  return {name: page.name, score: Math.round(score * 100), failed}
}

async function patiently(chrome, page) {
  let trouble
  for (let n = 0; n < attempts; n++) {
    try {
      return await within(most, audit(chrome, page))
    } catch (e) {
      trouble = e
      stop()
    }
  }
  return {name: page.name, trouble: String(trouble?.stack ?? trouble)}
}

process.on('unhandledRejection', () => {}) // of an attempt that was given up

let input = ''
for await (const chunk of process.stdin) input += chunk
const {chrome, pages} = JSON.parse(input)
try {
  for (const page of pages) console.log(JSON.stringify(await patiently(chrome, page)))
} finally {
  stop()
}
process.exit(0) // whatever a lost connection still waits for
