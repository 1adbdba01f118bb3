// Audits the operators' console with Lighthouse, signed out and signed in.
//
// It reads {chrome, url, email, password} from standard input and writes one line for each page,
// {name, scores: {category: 0 to 100}, failed: [audit]}.
import {launch} from 'chrome-launcher'
import lighthouse from 'lighthouse'
import puppeteer from 'puppeteer-core'

const patience = 180_000 // milliseconds for a page to load
let input = ''
for await (const chunk of process.stdin) input += chunk
const {chrome, url, email, password} = JSON.parse(input)
const browser = await launch({chromePath: chrome, logLevel: 'silent', connectionPollInterval: 500, maxConnectionRetries: 240,
  chromeFlags: ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking',
    '--disable-component-update', '--disable-sync']})
try {
  const driver = await puppeteer.connect({browserURL: `http://127.0.0.1:${browser.port}`, protocolTimeout: patience})
  const page = await driver.newPage()
  page.setDefaultTimeout(patience)
  // A busy machine's trace may lack the start of the page load. Lighthouse then measures nothing and asks to run it again.
  const audit = async (name, attempt = 1) => {
    const {lhr} = await lighthouse(page.url(), {port: browser.port, logLevel: 'silent', output: 'json',
      onlyCategories: ['accessibility', 'best-practices', 'performance'], throttlingMethod: 'simulate', formFactor: 'desktop',
      screenEmulation: {mobile: false, width: 1350, height: 940, deviceScaleFactor: 1, disabled: false},
      throttling: {rttMs: 40, throughputKbps: 10240, cpuSlowdownMultiplier: 1, requestLatencyMs: 0, downloadThroughputKbps: 0,
        uploadThroughputKbps: 0},
      disableStorageReset: true, disableFullPageScreenshot: true, maxWaitForFcp: patience, maxWaitForLoad: patience},
    undefined, page)
    if (lhr.runtimeError?.code === 'NO_NAVSTART' && attempt < 5) return audit(name, attempt + 1)
    if (lhr.runtimeError) throw new Error(`${lhr.runtimeError.code}: ${lhr.runtimeError.message}`)
    const entries = Object.values(lhr.categories)
    const failed = entries.filter(c => c.id !== 'performance').flatMap(c => c.auditRefs)
      .filter(({id, weight}) => weight > 0 && lhr.audits[id].score !== null && lhr.audits[id].score < 1)
      .map(({id}) => `${id}: ${lhr.audits[id].title} ${JSON.stringify(lhr.audits[id].details?.items ?? [])}`)
    console.log(JSON.stringify({name, failed, scores: Object.fromEntries(entries.map(c => [c.id, Math.round(c.score * 100)]))}))
  }
  await page.goto(url)
  await page.waitForSelector('.welcome button')
  await audit('signed out')
  await page.goto(url)
  await (await page.waitForSelector('.welcome button')).click()
  await page.waitForSelector('#password')
  await page.$eval('#email', (field, value) => { field.value = value }, email)
  await page.type('#password', password + '\n')
  await page.waitForSelector('.map canvas')
  await audit('signed in')
} finally {
  browser.kill()
}
process.exit(0)
