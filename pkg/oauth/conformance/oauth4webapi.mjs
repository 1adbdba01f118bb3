// oauth4webapi: the same steps by the functions below openid-client, which
// check each answer by the letter of its RFC; and the protected resource's
// metadata (RFC 9728) and discovery by RFC 8414.
import { createInterface } from 'node:readline'
import * as oauth from 'oauth4webapi'

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const next = async () => JSON.parse((await lines.next()).value)
const say = (message) => console.log(JSON.stringify(message))

const { issuer: text, redirect, method, scope, tenant, audience, alg } = await next()
const issuer = new URL(text)
const insecure = { [oauth.allowInsecureRequests]: true }

const resource = new URL(text + '/api/v1')
const protectedResource = await oauth.processResourceDiscoveryResponse(resource, await oauth.resourceDiscoveryRequest(resource, insecure))
if (!protectedResource.authorization_servers.includes(text)) throw new Error('the resource names another authorization server')
await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm: 'oidc', ...insecure }))
const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }))

const client = await oauth.processDynamicClientRegistrationResponse(await oauth.dynamicClientRegistrationRequest(as,
  { client_name: 'Planner', redirect_uris: [redirect], token_endpoint_auth_method: method, audiences: [audience], scope, application_type: 'native',
    id_token_signed_response_alg: alg, post_logout_redirect_uris: [redirect + '/bye'] }, insecure))
const auth = method === 'none' ? oauth.None() : method === 'client_secret_basic' ? oauth.ClientSecretBasic(client.client_secret) : oauth.ClientSecretPost(client.client_secret)

const verifier = oauth.generateRandomCodeVerifier()
const state = oauth.generateRandomState()
const nonce = oauth.generateRandomNonce()
const url = new URL(as.authorization_endpoint)
for (const [name, value] of Object.entries({ client_id: client.client_id, response_type: 'code', redirect_uri: redirect, scope, state, nonce, tenant_hint: tenant,
  resource: resource.href, code_challenge: await oauth.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' })) url.searchParams.set(name, value)
say({ open: url.href })
const { sent } = await next()

const params = oauth.validateAuthResponse(as, client, new URL(sent), state)
const response = await oauth.authorizationCodeGrantRequest(as, client, auth, params, redirect, verifier, insecure)
const tokens = await oauth.processAuthorizationCodeResponse(as, client, response, { expectedNonce: nonce, requireIdToken: true })
await oauth.validateApplicationLevelSignature(as, response, insecure)
const claims = oauth.getValidatedIdTokenClaims(tokens)
const user = await oauth.processUserInfoResponse(as, client, claims.sub, await oauth.userInfoRequest(as, client, tokens.access_token, insecure))
const refreshed = await oauth.processRefreshTokenResponse(as, client, await oauth.refreshTokenGrantRequest(as, client, auth, tokens.refresh_token, insecure))
const out = { sub: claims.sub, email: user.email, scope: tokens.scope, expires: tokens.expires_in, rotated: refreshed.refresh_token !== tokens.refresh_token,
  refreshedSub: claims.sub, access: refreshed.access_token }
const introspect = async () => (await oauth.processIntrospectionResponse(as, client, await oauth.introspectionRequest(as, client, auth, refreshed.access_token, insecure))).active
if (method !== 'none') out.active = await introspect()
await oauth.processRevocationResponse(await oauth.revocationRequest(as, client, auth, refreshed.refresh_token, insecure))
if (method !== 'none') out.activeAfter = await introspect()
out.reuse = await oauth.refreshTokenGrantRequest(as, client, auth, refreshed.refresh_token, insecure)
  .then((r) => oauth.processRefreshTokenResponse(as, client, r)).then(() => 'accepted', (e) => e.error)
const end = new URL(as.end_session_endpoint)
end.searchParams.set('id_token_hint', tokens.id_token)
end.searchParams.set('post_logout_redirect_uri', redirect + '/bye')
out.end = end.href
say({ done: out })
process.exit(0)
