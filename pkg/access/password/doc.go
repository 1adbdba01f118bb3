// Package password hashes and verifies passwords. It uses argon2id with the
// parameters that OWASP recommends, and PHC strings. It must not know accounts.
package password
