package clients

import (
	"slices"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/data/table"
	"svc/pkg/oauth/protocol"
)

// CommandLine is the client_id of svc, the platform's own command line. It is a public
// client that this build declares, so it needs no registration and nobody can change it.
// Its record has only its state: disabled or not.
const CommandLine = "svc"

func commandLine() Client {
	c := Client{ID: CommandLine, Name: "svc command line", AuthMethod: protocol.AuthNone,
		RedirectURIs: []string{"http://127.0.0.1/callback", "http://[::1]/callback"},
		Audiences:    slices.Clone(authz.Audiences), ApplicationType: "native", IDTokenAlg: signing.RS256}
	for _, audience := range authz.Audiences {
		c.Scopes = append(c.Scopes, authz.Scopes(audience)...)
	}
	slices.Sort(c.Scopes)
	c.Scopes = slices.Compact(c.Scopes)
	return c
}

// Decode decodes the record of the client with the id, as FromItem does. CommandLine has no
// record until somebody has allowed it access.
func Decode(id string, it table.Item, now time.Time) (Client, error) {
	if id != CommandLine {
		return FromItem(it, now)
	}
	c := commandLine()
	c.Disabled, c.Expires, c.version, c.unknown = it.Flag("disabled"), it.Expires, it.Version, it.Unknown()
	return c, nil
}

// Trust is what a company or the platform trusts: a client as it was registered then. A client
// may change its own registration, and a change must not extend the trust: else whoever
// steals a registration token gets everybody's codes.
type Trust struct {
	Name         string   `json:"name"`
	RedirectURIs []string `json:"redirectUris"`
	Scopes       []string `json:"scopes"`
	LogoURI      string   `json:"logoUri,omitempty"` // "" also in a trust of an earlier build
}

// Covers reports whether the trust is for the client as it is now, and for the scopes.
func (n Trust) Covers(c Client, scopes []string) bool {
	foreign := func(scope string) bool { return !slices.Contains(n.Scopes, scope) }
	return n.Name == c.Name && !slices.ContainsFunc(scopes, foreign)
}

// MayUseDevices reports whether the client may ask for access on another device (RFC 8628).
// trust is the item of TrustKey. Anybody can send a person the code of such a request, so the
// name that the person then sees must be one that the platform vouches for.
func (c Client) MayUseDevices(trust table.Item, scopes []string) (bool, error) {
	switch {
	case c.Disabled || c.Machine != nil:
		return false, nil
	case c.ID == CommandLine:
		return true, nil
	case !trust.Found():
		return false, nil
	}
	if len(scopes) == 0 { // all of the client's
		scopes = c.Scopes
	}
	unregistered := func(scope string) bool { return !slices.Contains(c.Scopes, scope) }
	n, err := table.DecodeDoc[Trust](trust)
	return err == nil && n.Covers(c, slices.DeleteFunc(slices.Clone(scopes), unregistered)), err
}
