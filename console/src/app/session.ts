// The session: signing in with the authorization code flow and PKCE (RFC 7636) as a
// public client, and a fresh access token for each request. The tokens stay in this
// tab; closing it forgets them.

const redirect = location.origin + '/console/'
const clientLife = 60 * 86400_000 // a client that nobody uses is forgotten after 90 days

interface Tokens {
  access: string
  refresh: string
  expires: number // milliseconds since 1970
  scopes: string[]
}

interface Attempt {
  state: string
  verifier: string
  back: string // the part of the address after "#"
}

const read = <T>(store: Storage, key: string): T | null => JSON.parse(store.getItem(key) ?? 'null') as T | null
const write = (store: Storage, key: string, value: unknown) => store.setItem(key, JSON.stringify(value))

const base64url = (bytes: Uint8Array) =>
  btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)))

export const signedIn = () => read<Tokens>(sessionStorage, 'tokens') !== null
export const allowed = (scope: string) => read<Tokens>(sessionStorage, 'tokens')?.scopes.includes(scope) ?? false

// client returns the id of this browser's client. It registers one if there is none, or
// if it was not used for long (RFC 7591).
async function client(): Promise<string> {
  const known = read<{ id: string; used: number }>(localStorage, 'client')
  if (known && Date.now() - known.used < clientLife) {
    write(localStorage, 'client', { id: known.id, used: Date.now() })
    return known.id
  }
  const response = await fetch('/oauth/register', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ client_name: 'Console', redirect_uris: [redirect], audiences: ['dashboard'],
      post_logout_redirect_uris: [redirect], token_endpoint_auth_method: 'none' }),
  })
  const answer = await response.json() as { client_id: string; error_description?: string }
  if (!response.ok) throw new Error(answer.error_description ?? response.statusText)
  write(localStorage, 'client', { id: answer.client_id, used: Date.now() })
  return answer.client_id
}

// scopes returns the operators' scopes that the service has.
async function scopes(): Promise<string> {
  const response = await fetch('/.well-known/oauth-authorization-server')
  const metadata = await response.json() as { scopes_supported: string[] }
  return metadata.scopes_supported.filter(scope => scope.startsWith('tenant.')).join(' ')
}

// signIn leaves the page for the sign-in page, and comes back to the same view.
export async function signIn(): Promise<void> {
  const attempt: Attempt = { state: random(), verifier: random(), back: location.hash }
  write(sessionStorage, 'attempt', attempt)
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(attempt.verifier))
  location.assign('/oauth/authorize?' + new URLSearchParams({
    response_type: 'code', client_id: await client(), redirect_uri: redirect, scope: await scopes(),
    state: attempt.state, code_challenge: base64url(new Uint8Array(digest)), code_challenge_method: 'S256',
  }))
}

// finish takes the answer of the sign-in page from the address. It returns an error's
// code, or null.
export async function finish(): Promise<string | null> {
  const answer = new URLSearchParams(location.search)
  const attempt = read<Attempt>(sessionStorage, 'attempt')
  if (!answer.has('state')) return null
  sessionStorage.removeItem('attempt')
  history.replaceState(null, '', '/console/' + (attempt?.back ?? ''))
  if (attempt === null || answer.get('state') !== attempt.state) return 'state'
  const code = answer.get('code')
  if (code === null) return answer.get('error') ?? 'server_error'
  return redeem({ grant_type: 'authorization_code', code, redirect_uri: redirect, code_verifier: attempt.verifier })
}

async function redeem(form: Record<string, string>): Promise<string | null> {
  const response = await fetch('/oauth/token', { method: 'POST',
    body: new URLSearchParams({ ...form, client_id: await client() }) })
  const answer = await response.json() as { access_token: string; refresh_token: string; expires_in: number
    scope: string; error?: string }
  if (!response.ok) {
    if (answer.error === 'invalid_client') localStorage.removeItem('client')
    return answer.error ?? 'server_error'
  }
  const tokens: Tokens = { access: answer.access_token, refresh: answer.refresh_token,
    expires: Date.now() + answer.expires_in * 1000, scopes: answer.scope.split(' ') }
  write(sessionStorage, 'tokens', tokens)
  return null
}

let refreshing: Promise<string | null> | null = null

// token returns an access token for a request, '' if the person must sign in again. A
// refresh token is used once, so requests at the same time share one refresh.
export async function token(force = false): Promise<string> {
  let tokens = read<Tokens>(sessionStorage, 'tokens')
  if (tokens === null) return ''
  if (force || tokens.expires - Date.now() < 60_000) {
    refreshing ??= redeem({ grant_type: 'refresh_token', refresh_token: tokens.refresh })
      .finally(() => { refreshing = null })
    const failed = await refreshing
    if (failed === 'invalid_grant' || failed === 'invalid_client') {
      sessionStorage.removeItem('tokens')
      return ''
    }
    tokens = read<Tokens>(sessionStorage, 'tokens')
  }
  return tokens?.access ?? ''
}

// signOut ends this tab's tokens at the service, and the session of the sign-in pages.
export async function signOut(): Promise<void> {
  const tokens = read<Tokens>(sessionStorage, 'tokens')
  sessionStorage.clear()
  if (tokens !== null) {
    await fetch('/oauth/revoke', { method: 'POST',
      body: new URLSearchParams({ token: tokens.refresh, client_id: await client() }) }).catch(() => undefined)
  }
  location.assign('/oauth/logout?' + new URLSearchParams({ client_id: await client(), post_logout_redirect_uri: redirect }))
}
