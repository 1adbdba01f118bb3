// Package oauth owns the authorization server. Its parts are packages of their
// own: clients (registration, management, metadata documents), tokens (the token,
// revocation, introspection and userinfo endpoints), request (the authorization
// request), company (the tenant of a sign-in), link (one-time links), session
// (sessions, devices, cookies), discovery and protocol. This package joins them
// under one list of endpoints. It also owns the authorization endpoint, the
// consents and the handlers of the pages: a file x_page.go for each page.
//
// The server issues and revokes tokens. Package authz decides whether a token is
// valid for an endpoint of the API. This package knows neither Lambda nor the
// gateway's events, and no trips, wallets or other resources.
package oauth
