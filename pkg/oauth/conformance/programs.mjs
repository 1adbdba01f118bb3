// openid-client and oauth4webapi: client_credentials by a secret and by a key, and the device
// flow. Reads its task as the first line of standard input; writes the device's codes and its
// result to standard output. Its argument names the library.
import { createInterface } from 'node:readline'
import * as client from 'openid-client'
import * as oauth from 'oauth4webapi'

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const say = (message) => console.log(JSON.stringify(message))
const { issuer, id, secret, key, scope, tenant } = JSON.parse((await lines.next()).value)
const sign = key && await crypto.subtle.importKey('jwk', key, { name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign'])

async function withOpenidClient() {
  const auth = secret ? client.ClientSecretBasic(secret) : sign ? client.PrivateKeyJwt({ key: sign, kid: key.kid }) : client.None()
  const config = await client.discovery(new URL(issuer), id, undefined, auth, { execute: [client.allowInsecureRequests] })
  if (auth && (secret || sign)) return client.clientCredentialsGrant(config, { scope })
  const device = await client.initiateDeviceAuthorization(config, { scope, tenant_hint: tenant })
  say({ device })
  return client.pollDeviceAuthorizationGrant(config, device)
}

async function withOauth4webapi() {
  const insecure = { [oauth.allowInsecureRequests]: true }
  const as = await oauth.processDiscoveryResponse(new URL(issuer), await oauth.discoveryRequest(new URL(issuer), { algorithm: 'oauth2', ...insecure }))
  const own = { client_id: id }
  const auth = secret ? oauth.ClientSecretBasic(secret) : sign ? oauth.PrivateKeyJwt({ key: sign, kid: key.kid }) : oauth.None()
  if (secret || sign)
    return oauth.processClientCredentialsResponse(as, own, await oauth.clientCredentialsGrantRequest(as, own, auth, new URLSearchParams({ scope }), insecure))
  const device = await oauth.processDeviceAuthorizationResponse(as, own, await oauth.deviceAuthorizationRequest(as, own, auth, new URLSearchParams({ scope, tenant_hint: tenant }), insecure))
  say({ device })
  for (let interval = device.interval; ; ) {
    await new Promise((go) => setTimeout(go, interval * 1000))
    try {
      return await oauth.processDeviceCodeResponse(as, own, await oauth.deviceCodeGrantRequest(as, own, auth, device.device_code, insecure))
    } catch (e) {
      if (e.error === 'slow_down') interval += 5
      else if (e.error !== 'authorization_pending') throw e
    }
  }
}

const tokens = await (process.argv[2] === 'openid-client' ? withOpenidClient() : withOauth4webapi())
say({ done: { scope: tokens.scope, expires: tokens.expires_in, access: tokens.access_token, refresh: tokens.refresh_token } })
process.exit(0)
