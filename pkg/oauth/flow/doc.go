// Package flow owns a small OAuth client: it goes through the authorization
// code flow over HTTP as a person with a browser would, from registration to
// the tokens, by filling in the server's own forms. The command line and the
// tests use it.
//
// The package must not know how the server stores or decides anything. It sees
// only addresses, pages and responses.
package flow
