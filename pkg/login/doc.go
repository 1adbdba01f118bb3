// Package login owns the sign-in rows of riders and drivers: one per tenant,
// audience and folded mail address, with the actor's id and the password's
// hash. The rows are written together with the actor's record by pkg/driver and
// pkg/customer; operators, who are global people, are pkg/person's.
package login
