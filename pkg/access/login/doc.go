// Package login owns the sign-in rows of riders and drivers. A row is an item of
// the table. There is one per tenant, audience and folded mail address, with the
// actor's id and the password hash. pkg/domain/account writes the row together
// with the actor's record. Operators are global: pkg/domain/person owns their rows.
package login
