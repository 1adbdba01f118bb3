// Package person owns the operators: global people, one per mail address, and
// their memberships in tenants with role and permissions. A person's record
// lists the tenants. If a change affects the record and memberships, one
// transaction writes all of them. The package must not know clients, tokens or
// pages. Every request with an operator's access token reads the membership.
// Therefore, removing or disabling a membership invalidates its tokens at once.
package person
