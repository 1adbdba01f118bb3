// Package signing owns the signing keys, the published key set, and minting
// and verifying JWTs. It is the only importer of jwx, so that a later major
// version of it is a change of this package alone.
//
// A key's life: Rotate generates it and publishes its public half; at least
// Lead later it signs; when its successor has begun to sign and the last of its
// tokens has expired, Rotate removes it. There is always one key that signs and
// soon another one waiting, per algorithm, so that Revoke leaves a key that
// everyone has already heard of. Private halves are sealed before they are
// stored and opened only to sign: a copy of the table cannot sign, and a process
// that only verifies needs no sealer.
//
// It knows nothing of clients, grants or scopes' meaning, and does not say
// whether a token is revoked.
package signing
