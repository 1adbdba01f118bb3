// Package protocol contains what the endpoints of the authorization server
// share: error responses, form-encoded requests, client credentials, scopes and
// resource indicators, as the OAuth RFCs define them. It reads no table and knows no
// client.
package protocol
