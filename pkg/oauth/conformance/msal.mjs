// @azure/msal-node: a desktop application signs a person in and refreshes. It
// listens on a free port of localhost, and has the response posted there. MSAL
// speaks to https alone. The service of the test has no certificate, so the
// network module maps the scheme; everything else is MSAL's own.
import { createInterface } from 'node:readline'
import { PublicClientApplication, ProtocolMode } from '@azure/msal-node'

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const { issuer, scope, tenant, audience } = JSON.parse((await lines.next()).value)
const say = (message) => console.log(JSON.stringify(message))
const secure = issuer.replace('http:', 'https:')
const sent = []

async function send (url, { headers, body } = {}, method) {
  if (body) sent.push(new URLSearchParams(body).get('scope'))
  const response = await fetch(url.replace('https:', 'http:'), { method, headers, body })
  return { status: response.status, headers: Object.fromEntries(response.headers),
    body: JSON.parse((await response.text()).replaceAll(issuer + '/', secure + '/').replaceAll(`"${issuer}"`, `"${secure}"`)) }
}

const registration = await fetch(issuer + '/oauth/register', { method: 'POST', headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ client_name: 'Desktop', redirect_uris: ['http://localhost'], token_endpoint_auth_method: 'none',
    audiences: [audience], scope: 'openid profile offline_access ' + scope }) })
const { client_id: clientId } = await registration.json()
const app = new PublicClientApplication({
  auth: { clientId, authority: secure, knownAuthorities: [new URL(secure).host] },
  system: { protocolMode: ProtocolMode.OIDC, networkClient: {
    sendGetRequestAsync: (url, options) => send(url, options, 'GET'),
    sendPostRequestAsync: (url, options) => send(url, options, 'POST') } },
})
const first = await app.acquireTokenInteractive({ scopes: [scope], extraQueryParameters: { tenant_hint: tenant },
  openBrowser: async (url) => say({ open: url.replace('https:', 'http:') }) })
const next = await app.acquireTokenSilent({ account: first.account, scopes: [scope], forceRefresh: true })
say({ done: { sub: first.account.localAccountId, scope: next.scopes.join(' '), access: next.accessToken,
  rotated: next.accessToken !== first.accessToken, asked: sent } })
process.exit(0)
