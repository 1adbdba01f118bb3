package app_test

import (
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/data/table"
)

// TestClaimsMatchTheRecord: an attacker with a stolen signing key and a valid
// token of their own cannot act for another actor, client or audience.
func TestClaimsMatchTheRecord(t *testing.T) {
	s := newSuite(t)
	mine := s.Token(t, s.actors[authz.Rider])
	victim, err := s.Runtime.Keys().Verify(t.Context(), s.Token(t, s.Rider(t, "metro", "rex")))
	testkit.Must(t, err)
	own, err := s.Runtime.Keys().Verify(t.Context(), mine)
	testkit.Must(t, err)
	metro, platform := s.Tenant("metro"), s.DB.Platform("CLIENT")
	const other = "cli_00000000000000000000000009"
	record, err := metro.Get(t.Context(), authz.TokenKey(metro, own.ID))
	testkit.Must(t, err)
	for _, key := range []table.Key{authz.GrantKey(metro, other, own.Subject),
		authz.GrantKey(metro, own.ClientID, victim.Subject)} {
		testkit.Must(t, metro.Load(t.Context(), table.Item{Key: key, Type: "grant",
			Attrs: map[string]any{"epoch": record.Int("epoch")}}))
	}
	for n := range authz.Copies {
		testkit.Must(t, platform.Load(t.Context(), table.Item{Key: authz.ClientKey(platform, other, n), Type: "state",
			Attrs: map[string]any{"disabled": false}}))
	}
	for name, change := range map[string]func(*signing.Access){
		"actor":    func(a *signing.Access) { a.Subject = victim.Subject },
		"client":   func(a *signing.Access) { a.ClientID = other },
		"audience": func(a *signing.Access) { a.Audience = string(authz.Driver) },
	} {
		t.Run(name, func(t *testing.T) {
			forged := own
			change(&forged)
			raw, err := s.Runtime.Keys().MintAccess(t.Context(), forged)
			testkit.Must(t, err)
			s.Get(t, raw, "/api/v1/me").Must(t, 401)
		})
	}
	s.Get(t, mine, "/api/v1/me").Must(t, 200)
}
