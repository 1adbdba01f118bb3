// Package signing owns the signing keys and the published key set. It mints and
// verifies JWTs. Only this package imports jwx, so a new major version of jwx
// changes only this package.
//
// Rotate generates a key and publishes its public half. The key begins to sign
// at least Lead later, or at once if the algorithm has no other key. Rotate
// removes a key after its successor has begun to sign and the key's last token
// has expired. Each algorithm has one key that signs and one that waits. When
// Revoke ends the signing key, its predecessor signs again if it is still
// published. Otherwise the waiting key signs at once. Clients already know both
// keys, because they were published before.
//
// Private keys are sealed in the table. Only a process that signs opens them. A
// copy of the table cannot sign. A process that only verifies needs no sealer.
//
// The package must not know registrations of clients, grants or the meaning of
// scopes. It does not know whether a token is revoked.
package signing
