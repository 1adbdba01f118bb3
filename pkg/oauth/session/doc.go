// Package session owns who is signed in with which browser: accounts that may
// sign in, browser sessions, the browsers that an account knows, and the cookies
// and form tokens of these sessions and browsers. It shows no pages and knows no
// client.
package session
