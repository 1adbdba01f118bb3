// Package person owns the operators: global people, one per mail address, and
// their memberships in tenants with role and permissions. A person's record
// lists the tenants. One transaction writes the record and the memberships. The
// package must not know clients, tokens or pages. Still, removing or disabling
// a membership invalidates its tokens, because every request reads the
// membership.
package person
