'use strict'
// The client of /dev/callback. The PKCE verifier stays in this tab's session
// storage, under the state of its request, until the code is exchanged.
const redirect = location.origin + '/dev/callback'
const $ = id => document.getElementById(id)
const base64url = bytes => btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
const secret = () => base64url(crypto.getRandomValues(new Uint8Array(32)))

function show(id, text) {
  $(id).hidden = false
  if (text !== undefined) $(id).querySelector('pre').textContent = text
}

async function answer(response) {
  const body = await response.json()
  if (!response.ok) throw new Error(`${response.status}\n` + JSON.stringify(body, null, 2))
  return body
}

// client registers one client for each audience and set of scopes, and reuses it in this tab.
async function client(audience, scope) {
  const name = `client ${audience} ${scope}`
  if (!sessionStorage.getItem(name)) {
    const made = await answer(await fetch('/oauth/register', {
      method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ client_name: 'Step by step', redirect_uris: [redirect], token_endpoint_auth_method: 'none', audiences: [audience], scope }),
    }))
    sessionStorage.setItem(name, made.client_id)
  }
  return sessionStorage.getItem(name)
}

async function authorize(form) {
  const scope = form.get('scope').trim().split(/\s+/).join(' ')
  const id = await client(form.get('audience'), scope)
  const state = secret(), verifier = secret()
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  sessionStorage.setItem('request ' + state, JSON.stringify({ id, verifier }))
  const query = new URLSearchParams({
    response_type: 'code', client_id: id, redirect_uri: redirect, scope, state, nonce: secret(),
    code_challenge: base64url(new Uint8Array(hash)), code_challenge_method: 'S256',
  })
  if (form.get('tenant')) query.set('tenant_hint', form.get('tenant'))
  location.assign('/oauth/authorize?' + query)
}

// decoded shows the parts of a token; the service checks its signature, this page does not.
function decoded(name, token) {
  const [header, claims] = token.split('.', 2).map(part => {
    const bytes = Uint8Array.from(atob(part.replaceAll('-', '+').replaceAll('_', '/')), c => c.charCodeAt(0))
    return JSON.parse(new TextDecoder().decode(bytes))
  })
  const pre = document.createElement('pre')
  pre.textContent = `${name}: ${JSON.stringify(header)}\n${JSON.stringify(claims, null, 2)}`
  $('claims').querySelector('div').append(pre)
}

async function exchange(code, id, verifier) {
  const tokens = await answer(await fetch('/oauth/token', {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'authorization_code', code, redirect_uri: redirect, client_id: id, code_verifier: verifier }),
  }))
  show('tokens', JSON.stringify(tokens, null, 2))
  show('claims')
  decoded('access_token', tokens.access_token)
  if (tokens.id_token) decoded('id_token', tokens.id_token)
  show('call', `curl -s ${location.origin}/api/v1/me -H 'Authorization: Bearer ${tokens.access_token}'`)
}

const curl = (code, id, verifier) => `curl -s ${location.origin}/oauth/token -d grant_type=authorization_code \\
  -d code=${code} \\
  -d redirect_uri=${redirect} \\
  -d client_id=${id} -d code_verifier=${verifier}`

const guarded = work => work.catch(err => show('failed', err.message))

function scopes() {
  $('start').elements.scope.value = $('start').elements.audience.selectedOptions[0].dataset.scopes
}

const query = new URLSearchParams(location.search)
const code = query.get('code')
if (query.has('error')) {
  show('failed', [...query].map(pair => pair.join(': ')).join('\n'))
} else if (code) {
  const request = 'request ' + query.get('state'), kept = JSON.parse(sessionStorage.getItem(request))
  show('code', code)
  if (kept) {
    sessionStorage.removeItem(request) // a reload must not use the code twice: that ends its tokens
    show('exchange', curl(code, kept.id, kept.verifier))
    guarded(exchange(code, kept.id, kept.verifier))
  } else {
    show('exchange', curl(code, '"$CLIENT"', '"$VERIFIER"'))
    $('finish').hidden = false
    $('finish').addEventListener('submit', event => {
      event.preventDefault()
      const form = new FormData($('finish'))
      guarded(exchange(code, form.get('client').trim(), form.get('verifier').trim()))
    })
  }
} else {
  show('start', undefined)
  scopes()
  $('start').elements.audience.addEventListener('change', scopes)
  $('start').addEventListener('submit', event => {
    event.preventDefault()
    guarded(authorize(new FormData($('start'))))
  })
}
