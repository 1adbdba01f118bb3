// Package password hashes and verifies passwords: argon2id with the parameters
// that OWASP gives, written as PHC strings. It knows no account.
package password
