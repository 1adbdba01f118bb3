// @modelcontextprotocol/client: discovery, registration, code with PKCE, tools.
// Reads its task as the first line of standard input, then one request a line.
// Writes addresses for the person's browser and questions for the person to
// standard output, and reads the answers.
import { createInterface } from 'node:readline'
import { Client, StreamableHTTPClientTransport, UnauthorizedError, createPrivateKeyJwtAuth } from '@modelcontextprotocol/client'

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const next = async () => JSON.parse((await lines.next()).value ?? '{}')
const say = (message) => console.log(JSON.stringify(message))

const task = await next()
let address, client, tokens, verifier, registered
if (task.clientId) registered = { client_id: task.clientId, client_secret: task.clientSecret || undefined }

const provider = {
  redirectUrl: task.redirect,
  clientMetadataUrl: task.document || undefined,
  clientMetadata: { client_name: 'Planner', redirect_uris: [task.redirect], application_type: 'native', token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'] },
  clientInformation: () => registered,
  saveClientInformation: (information) => { registered = information },
  tokens: () => tokens,
  saveTokens: (fresh) => { tokens = fresh },
  redirectToAuthorization: (url) => {
    if (address) throw new Error('the person has to sign in again')
    address = url.href
  },
  saveCodeVerifier: (fresh) => { verifier = fresh },
  codeVerifier: () => verifier,
}
if (task.key) {
  provider.addClientAuthentication = createPrivateKeyJwtAuth({ issuer: task.document, subject: task.document, privateKey: task.key, alg: 'ES256' })
}

async function connected () {
  const transport = new StreamableHTTPClientTransport(new URL(task.url), { authProvider: provider })
  client = new Client({ name: 'planner', version: '1' },
    { capabilities: { elicitation: {} }, versionNegotiation: { mode: task.mode || 'auto' } })
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    say({ ask: params.message })
    return (await next()).agree ? { action: 'accept', content: { agreed: true } } : { action: 'decline' }
  })
  try {
    await client.connect(transport, { timeout: 300_000 })
  } catch (e) {
    if (!(e instanceof UnauthorizedError)) throw e
    say({ open: address })
    await transport.finishAuth(new URL((await next()).sent).searchParams)
    await connected()
  }
}

await connected()
say({ ready: { refresh: tokens.refresh_token, access: tokens.access_token, clientId: registered.client_id } })
for (let request; (request = await next()).method;) {
  try {
    say({ result: request.method === 'tools/list'
      ? { tools: (await client.listTools()).tools.map((tool) => tool.name) }
      : await client.callTool({ name: request.name, arguments: request.arguments }, { timeout: 300_000 }) })
  } catch (e) {
    say({ failed: String(e) })
  }
}
process.exit(0)
