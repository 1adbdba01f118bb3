// Package signing owns the signing keys and the published key set. It mints and
// verifies JWTs. Only this package imports jwx, so a new major version of jwx
// changes only this package.
//
// Rotate generates a key and publishes its public half. The key signs at least
// Lead later. Rotate removes it after its successor has begun to sign and the
// last of its tokens has expired. Each algorithm has one key that signs and one
// that waits. After Revoke, every client's cache of the key set already holds
// the next key.
//
// Private keys are sealed in the table and opened only to sign. A copy of the
// table cannot sign. A process that only verifies needs no sealer.
//
// The package must not know clients, grants or the meaning of scopes. It does
// not know whether a token is revoked.
package signing
