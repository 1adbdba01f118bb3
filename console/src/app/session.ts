// The session: signing in with the authorization code flow and PKCE (RFC 7636) as a
// public client, and a fresh access token for each request. The tokens stay in this
// tab; closing it forgets them. Each tab has tokens of its own: the service ends all
// tokens of a client that sends a used refresh token.

const redirect = location.origin + '/console/'
const clientLife = 60 * 86400_000 // a client that nobody uses is forgotten after 90 days

interface Tokens {
  session: string // names this tab's sign-in
  access: string
  refresh: string
  id: string // the ID token: whoever signs out with it is not asked
  expires: number // milliseconds since 1970
  scopes: string[]
}

interface Attempt {
  state: string
  verifier: string
  back: string // the part of the address after "#"
  quiet: boolean // no page of the service is shown
  change: boolean // to another company
}

const read = <T>(store: Storage, key: string): T | null => JSON.parse(store.getItem(key) ?? 'null') as T | null
const write = (store: Storage, key: string, value: unknown) => store.setItem(key, JSON.stringify(value))

const base64url = (bytes: Uint8Array) =>
  btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)))

export const signedIn = () => read<Tokens>(sessionStorage, 'tokens') !== null
export const allowed = (scope: string) => read<Tokens>(sessionStorage, 'tokens')?.scopes.includes(scope) ?? false

const registered = () => read<{ id: string; used: number }>(localStorage, 'client')

// revoke ends a refresh token and its access tokens. It returns false if the service does
// not know the client (RFC 7009 answers 200 for a token that does not exist).
async function revoke(refresh: string, id: string): Promise<boolean> {
  const response = await fetch('/oauth/revoke', { method: 'POST', body: new URLSearchParams({ token: refresh, client_id: id }) })
  return response.status !== 401
}

// client returns the id of this browser's client. It registers one if there is none, or
// if it was not used for long (RFC 7591).
async function client(): Promise<string> {
  const known = registered()
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
  return metadata.scopes_supported.filter(scope => scope.startsWith('tenant.') || scope === 'openid').join(' ')
}

// signIn leaves the page for the sign-in page, and comes back to the same view. To change
// the company it comes back to the first one.
export async function signIn({ quiet = false, change = false } = {}): Promise<void> {
  const attempt: Attempt = { state: random(), verifier: random(), back: change ? '' : location.hash, quiet, change }
  const known = registered()
  if (known && !await revoke('none', known.id)) localStorage.removeItem('client') // the service has lost it
  write(sessionStorage, 'attempt', attempt)
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(attempt.verifier))
  location.assign('/oauth/authorize?' + new URLSearchParams({
    response_type: 'code', client_id: await client(), redirect_uri: redirect, scope: await scopes(),
    state: attempt.state, code_challenge: base64url(new Uint8Array(digest)), code_challenge_method: 'S256',
    ...(quiet ? { prompt: 'none' } : {}),
  }))
}

// begin makes the page ready: it ends a sign-in, or begins one without a page if this
// browser has signed in before. It returns an error's code, or null.
export async function begin(): Promise<string | null> {
  const answered = new URLSearchParams(location.search).has('state')
  const failed = await finish()
  const tokens = read<Tokens>(sessionStorage, 'tokens')
  if (tokens !== null && await own(tokens.session)) return failed
  sessionStorage.removeItem('tokens')
  if (answered || registered() === null || sessionStorage.getItem('out')) return failed
  return signIn({ quiet: true }).then(() => new Promise<never>(() => undefined), () => null)
}

// own reports whether the session is this tab's. A tab holds a lock on its session until it
// ends. A duplicated tab begins with a copy of the tokens, and cannot get the lock. It
// waits a moment, because a page that was loaded again may be on its way out.
const own = (session: string) => new Promise<boolean>(resolve => {
  navigator.locks.request('session ' + session, { signal: AbortSignal.timeout(1000) }, () => {
    resolve(true)
    return new Promise(() => undefined)
  }).catch(() => resolve(false))
})

// finish takes the answer of the sign-in page from the address. It returns an error's
// code, or null.
async function finish(): Promise<string | null> {
  const answer = new URLSearchParams(location.search)
  const attempt = read<Attempt>(sessionStorage, 'attempt')
  if (!answer.has('state')) return null
  sessionStorage.removeItem('attempt')
  history.replaceState(null, '', '/console/' + (attempt?.back ?? ''))
  if (attempt === null || answer.get('state') !== attempt.state) return 'state'
  const code = answer.get('code')
  if (code === null) return attempt.quiet ? null : answer.get('error') ?? 'server_error'
  const old = read<Tokens>(sessionStorage, 'tokens')
  const failed = await redeem({ grant_type: 'authorization_code', code, redirect_uri: redirect,
    code_verifier: attempt.verifier }, random())
  if (failed !== null) return failed
  sessionStorage.removeItem('out')
  if (old !== null) await revoke(old.refresh, await client()).catch(() => undefined)
  if (attempt.change) Object.keys(sessionStorage).filter(key => key.startsWith('draft ')).forEach(key => sessionStorage.removeItem(key))
  return null
}

async function redeem(form: Record<string, string>, session: string): Promise<string | null> {
  const response = await fetch('/oauth/token', { method: 'POST',
    body: new URLSearchParams({ ...form, client_id: await client() }) })
  const answer = await response.json() as { access_token: string; refresh_token: string; id_token?: string; expires_in: number
    scope: string; error?: string }
  if (!response.ok) {
    if (answer.error === 'invalid_client') localStorage.removeItem('client')
    return answer.error ?? 'server_error'
  }
  const tokens: Tokens = { session, access: answer.access_token, refresh: answer.refresh_token,
    id: answer.id_token ?? read<Tokens>(sessionStorage, 'tokens')?.id ?? '',
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
    refreshing ??= redeem({ grant_type: 'refresh_token', refresh_token: tokens.refresh }, tokens.session)
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

const others = new BroadcastChannel('console')
others.onmessage = () => void end().then(() => {
  sessionStorage.setItem('out', 'yes')
  location.reload()
})

// end ends this tab's tokens at the service, and forgets what it kept.
async function end(): Promise<void> {
  const tokens = read<Tokens>(sessionStorage, 'tokens')
  sessionStorage.clear()
  if (tokens !== null) await revoke(tokens.refresh, await client()).catch(() => undefined)
}

// signOut ends the tokens of every tab of this browser, and the session of the sign-in pages.
export async function signOut(): Promise<void> {
  const id = read<Tokens>(sessionStorage, 'tokens')?.id ?? ''
  others.postMessage('out')
  await end()
  sessionStorage.setItem('out', 'yes')
  location.assign('/oauth/logout?' + new URLSearchParams({ client_id: await client(), post_logout_redirect_uri: redirect,
    ...(id ? { id_token_hint: id } : {}) }))
}
