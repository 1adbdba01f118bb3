// Package oauth owns the authorization server: registration of clients, the
// token, revocation and introspection endpoints, and the browser's side of it
// (authorize, sign-in, consent, sessions, userinfo, logout, connected apps,
// discovery). It mints and revokes; whether a token is good for an endpoint of
// the API is authz's to say. It knows neither Lambda nor the gateway's events,
// and nothing of trips, wallets or any other resource.
package oauth
