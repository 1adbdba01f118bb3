// Package session owns who is signed in with which browser: accounts that may
// sign in, browser sessions, the browsers that an account knows, and the cookies
// and form tokens that they are bound to. It shows no pages and knows no client.
package session
