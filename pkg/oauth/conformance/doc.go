// Package conformance runs OpenID and OAuth clients that others wrote against
// the whole service: openid-client and oauth4webapi of npm, authlib of
// PyPI, golang.org/x/oauth2 and coreos/go-oidc. They are strict where a test of ours might be lenient.
package conformance
