// openid-client: discovery, registration, code with PKCE, userinfo, refresh,
// introspection, revocation, end of session. Reads its task as the first line
// of standard input; writes addresses for the person's browser to standard
// output and reads where the browser was sent.
import { createInterface } from 'node:readline'
import * as client from 'openid-client'

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const next = async () => JSON.parse((await lines.next()).value)
const say = (message) => console.log(JSON.stringify(message))

const { issuer, redirect, method, scope, tenant, audience, alg } = await next()
const insecure = { execute: [client.allowInsecureRequests] }

const config = await client.dynamicClientRegistration(
  new URL(issuer),
  { client_name: 'Planner', redirect_uris: [redirect], token_endpoint_auth_method: method, audiences: [audience], scope, application_type: 'native',
    id_token_signed_response_alg: alg, post_logout_redirect_uris: [redirect + '/bye'] },
  undefined, insecure)
const metadata = config.clientMetadata()

const discovered = await client.discovery(new URL(issuer), metadata.client_id,
  { client_secret: metadata.client_secret, id_token_signed_response_alg: alg },
  method === 'none' ? client.None() : method === 'client_secret_basic' ? client.ClientSecretBasic(metadata.client_secret) : client.ClientSecretPost(metadata.client_secret),
  insecure)

const verifier = client.randomPKCECodeVerifier()
const state = client.randomState()
const nonce = client.randomNonce()
say({ open: client.buildAuthorizationUrl(discovered, {
  redirect_uri: redirect, scope, state, nonce, tenant_hint: tenant, resource: issuer + '/api/v1', max_age: '300',
  code_challenge: await client.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' }).href })
const { sent } = await next()

const tokens = await client.authorizationCodeGrant(discovered, new URL(sent),
  { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, maxAge: 300, idTokenExpected: true })
const claims = tokens.claims()
const user = await client.fetchUserInfo(discovered, tokens.access_token, claims.sub)
const refreshed = await client.refreshTokenGrant(discovered, tokens.refresh_token)
const out = { sub: claims.sub, email: user.email, scope: tokens.scope, expires: tokens.expires_in, rotated: refreshed.refresh_token !== tokens.refresh_token,
  refreshedSub: refreshed.claims()?.sub ?? claims.sub, access: refreshed.access_token }
if (method !== 'none') out.active = (await client.tokenIntrospection(discovered, refreshed.access_token)).active
await client.tokenRevocation(discovered, refreshed.refresh_token)
if (method !== 'none') out.activeAfter = (await client.tokenIntrospection(discovered, refreshed.access_token)).active
out.reuse = await client.refreshTokenGrant(discovered, refreshed.refresh_token).then(() => 'accepted', (e) => e.error)
out.end = client.buildEndSessionUrl(discovered, { post_logout_redirect_uri: redirect + '/bye', id_token_hint: tokens.id_token }).href
say({ done: out })
process.exit(0)
