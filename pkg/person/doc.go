// Package person owns the operators: global people, one per mail address, and
// their memberships in tenants with role and permissions. A person's record
// lists the tenants, in one transaction with the memberships. It knows nothing
// of clients, tokens and pages: a membership that is gone or disabled ends them
// by itself, since every request reads it.
package person
