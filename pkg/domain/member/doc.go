// Package member owns what operators do with their fellow operators: it lists, invites,
// changes and removes members of the company. Package person owns the memberships. The
// package must not know sessions, tokens or the page on which somebody accepts.
package member
