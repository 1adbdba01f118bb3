// Package conformance runs third-party OpenID and OAuth clients against the
// complete service: openid-client, oauth4webapi and @azure/msal-node of npm,
// authlib of PyPI, golang.org/x/oauth2 and coreos/go-oidc. These clients are strict where our
// own tests might be lenient.
package conformance
