package app_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/domain/person"
)

// TestMemberAgain: the end of a membership ends its tokens permanently,
// including refresh tokens. They stay invalid in a later membership of the same
// person. New tokens are valid.
func TestMemberAgain(t *testing.T) {
	s := newSuite(t)
	ctx, metro, op := context.Background(), s.Tenant("metro"), s.actors[authz.Dashboard]
	store := person.Store{DB: s.DB}
	old := s.SignIn(t, op)
	claims, err := s.Runtime.Keys().Verify(ctx, old.AccessToken)
	testkit.Must(t, err)
	probe := func(token string) apptest.Answer { return s.Get(t, token, "/api/v1/me") }
	probe(old.AccessToken).Must(t, 200)
	testkit.Must(t, store.Leave(ctx, metro, s.By(), op.ID))
	probe(old.AccessToken).Must(t, 401)
	s.Clock.Advance(time.Second)
	_, err = store.Join(ctx, metro, s.By(), op.ID, "owner", authz.Permissions())
	testkit.Must(t, err)
	probe(old.AccessToken).Must(t, 401)
	refresh := s.Do(t, apptest.Request{Method: http.MethodPost, Path: "/oauth/token",
		Header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"},
		Body: url.Values{"grant_type": {"refresh_token"}, "client_id": {claims.ClientID},
			"refresh_token": {old.RefreshToken}}.Encode()})
	if refresh.Status != 400 || refresh.Code() != "invalid_grant" {
		t.Errorf("refresh of a token of the earlier membership: %d %s", refresh.Status,
			strings.SplitN(string(refresh.Body), `"access_token"`, 2)[0])
	}
	fresh := s.SignIn(t, op)
	probe(fresh.AccessToken).Must(t, 200)
	_, err = store.Revoke(ctx, metro, s.By(), op.ID, "VIEW_TRIPS") // a change of the membership does not create a new one
	testkit.Must(t, err)
	probe(fresh.AccessToken).Must(t, 200)
}

// TestTwoMemberships: a change to a person in one tenant does not affect the
// other tenant.
func TestTwoMemberships(t *testing.T) {
	s := newSuite(t)
	ctx, op := context.Background(), s.actors[authz.Dashboard]
	store := person.Store{DB: s.DB}
	_, err := store.Join(ctx, s.Tenant("harbor"), s.By(), op.ID, "dispatcher", []string{"VIEW_TRIPS"})
	testkit.Must(t, err)
	there := op
	there.Tenant = "harbor"
	metro, harbor := s.Token(t, op), s.SignIn(t, there).AccessToken
	rider := s.Token(t, s.actors[authz.Rider])
	trip := apptest.JSON[struct{ ID string }](t, s.Post(t, rider, "/api/v1/me/trips", ride).Must(t, 201)).ID
	s.Get(t, metro, "/api/v1/trips/"+trip).Must(t, 200)
	s.Get(t, harbor, "/api/v1/trips/"+trip).Must(t, 404)
	me := apptest.JSON[struct {
		Membership struct {
			TenantSlug  string
			Permissions []string
		}
	}](t, s.Get(t, harbor, "/api/v1/me").Must(t, 200))
	if me.Membership.TenantSlug != "harbor" || len(me.Membership.Permissions) != 1 {
		t.Errorf("%+v", me)
	}
	s.Get(t, harbor, "/api/v1/drivers").Must(t, 403)
	testkit.Must(t, store.Leave(ctx, s.Tenant("harbor"), s.By(), op.ID))
	s.Get(t, harbor, "/api/v1/trips").Must(t, 401)
	s.Get(t, metro, "/api/v1/trips").Must(t, 200)
}
