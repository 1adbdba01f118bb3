// Starts the reference page. *Authorize* registers this page as a public client
// on its first use in a tab, so that nobody has to bring a client_id.
(() => {
  'use strict';
  // The page's policy demands a nonce of the style sheets that the component
  // inserts.
  const nonce = document.querySelector('meta[property=csp-nonce]').content;
  const create = document.createElement;
  document.createElement = (name, ...rest) => {
    const element = create.call(document, name, ...rest);
    if (element instanceof HTMLStyleElement) element.nonce = nonce;
    return element;
  };

  const unregistered = 'registered on Authorize';
  const redirect = location.origin + '/docs';
  const audience = document.querySelector('#audience');
  const company = document.querySelector('#company');
  for (const [field, asked] of [[audience, 'audience'], [company, 'tenant']]) {
    const value = new URLSearchParams(location.search).get(asked) ?? sessionStorage.getItem(asked);
    if (value) field.value = value;
    field.addEventListener('change', () => sessionStorage.setItem(asked, field.value.trim()));
  }
  audience.form.addEventListener('submit', event => event.preventDefault());

  // usualScopes returns the audience's scopes that operations need. Scopes of
  // deliveries are left out, because not every company delivers.
  async function usualScopes() {
    const {paths} = await (await fetch('/openapi.json')).json();
    const operations = Object.values(paths).flatMap(path => Object.values(path))
      .filter(op => audience.value in (op['x-policy']?.audiences ?? {}) && op['x-policy'].feature !== 'deliveryEnabled');
    return [...new Set(operations.map(op => op['x-policy'].audiences[audience.value]).filter(scope => scope))].join(' ');
  }

  // clientId returns the id of this tab's client.
  async function clientId() {
    const known = sessionStorage.getItem('client_id');
    if (known) return known;
    const response = await fetch('/oauth/register', {
      method: 'POST',
      headers: {'Content-Type': 'application/json'},
      body: JSON.stringify({client_name: 'API reference', redirect_uris: [redirect],
        audiences: ['dashboard', 'rider', 'driver'], token_endpoint_auth_method: 'none'}),
    });
    const client = await response.json();
    if (!response.ok) throw new Error(client.error_description);
    sessionStorage.setItem('client_id', client.client_id);
    return client.client_id;
  }

  // The component opens a window for the authorization request. The request
  // gets the client, the company and, if none was selected, the usual scopes.
  const open = window.open;
  window.open = (address, ...rest) => {
    const url = new URL(address, location);
    if (url.origin !== location.origin || url.pathname !== '/oauth/authorize') return open.call(window, address, ...rest);
    const popup = open.call(window, 'about:blank', ...rest);
    Promise.all([clientId(), url.searchParams.get('scope') || usualScopes()]).then(([id, scope]) => {
      url.searchParams.set('client_id', id);
      url.searchParams.set('scope', scope);
      if (company.value.trim()) url.searchParams.set('tenant_hint', company.value.trim());
      popup.location = url;
    }).catch(() => popup.close());
    return popup;
  };

  async function customFetch(input, init) {
    if (init?.body instanceof URLSearchParams && init.body.get('client_id') === unregistered) {
      init.body.set('client_id', await clientId());
    }
    return fetch(input, init);
  }

  const start = () => Scalar.createApiReference('#reference', {
    url: '/openapi.json',
    customFetch,
    withDefaultFonts: false,
    telemetry: false,
    hideClientButton: true,
    showDeveloperTools: 'never',
    agent: {disabled: true},
    mcp: {disabled: true},
    documentDownloadType: 'direct',
    defaultHttpClient: {targetKey: 'shell', clientKey: 'curl'},
    hiddenClients: {
      ...Object.fromEntries(['c', 'clojure', 'csharp', 'dart', 'fsharp', 'http', 'java', 'julia', 'kotlin', 'node', 'objc',
        'ocaml', 'php', 'powershell', 'r', 'ruby', 'rust', 'swift'].map(language => [language, true])),
      js: ['axios', 'jquery', 'ofetch', 'xhr'],
      python: ['aiohttp', 'httpx_sync', 'httpx_async'],
      shell: ['httpie', 'wget'],
    },
    authentication: {
      preferredSecurityScheme: 'oauth',
      securitySchemes: {oauth: {flows: {authorizationCode: {
        'x-scalar-client-id': unregistered,
        'x-scalar-redirect-uri': redirect,
        'x-usePkce': 'SHA-256',
        'x-scalar-credentials-location': 'body',
      }}}},
    },
  });
  document.addEventListener('DOMContentLoaded', start); // the component's script comes after this one
})();
