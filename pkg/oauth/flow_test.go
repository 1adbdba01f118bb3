package oauth_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/base/ids"
	"svc/pkg/oauth/flow"
)

// The errors of the flow when it cannot continue.
func TestFlowErrors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	base := flow.Options{BaseURL: baseURL, Tenant: "metro", Email: "ana@metro.example", Password: password,
		HTTPClient: f.client}
	with := func(change func(*flow.Options)) flow.Options {
		o := base
		change(&o)
		return o
	}
	for _, test := range []struct {
		name string
		o    flow.Options
		page bool   // the error is a *flow.Page, else a *flow.Error
		want string // in the text
	}{
		{"wrong password", with(func(o *flow.Options) { o.Password = "wrong" }), true, "is not right"},
		{"unknown tenant", with(func(o *flow.Options) { o.Tenant = "nobody" }), true, "Unknown company"},
		{"unknown client", with(func(o *flow.Options) { o.ClientID = ids.New(ids.Client, f.now()) }), true,
			"Unknown application"},
		{"a scope that she may not have", with(func(o *flow.Options) { o.Scope = "tenant.wallets:read" }), false,
			"invalid_scope"},
		{"a scope that is none", with(func(o *flow.Options) { o.Scope = "everything" }), false, "invalid_client_metadata"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := flow.Token(context.Background(), test.o)
			var page *flow.Page
			var refused *flow.Error
			if errors.As(err, &page) != test.page || errors.As(err, &refused) == test.page ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	_, err := flow.Token(context.Background(), with(func(o *flow.Options) { o.Tenant = "" }))
	if err == nil || !strings.Contains(err.Error(), "metro") || !strings.Contains(err.Error(), "nova") {
		t.Errorf("several memberships and no tenant: %v", err)
	}
}

// The flow reuses a client, and refreshes.
func TestFlowReusesAClient(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, o := context.Background(), flow.Options{BaseURL: baseURL, Tenant: "metro", Email: "ana@metro.example",
		Password: password, HTTPClient: f.client}
	first, err := flow.Token(ctx, o)
	testkit.Must(t, err)
	o.ClientID = first.ClientID
	second, err := flow.Token(ctx, o)
	testkit.Must(t, err)
	third, err := flow.Refresh(ctx, o, second.RefreshToken)
	testkit.Must(t, err)
	if second.ClientID != first.ClientID || third.ClientID != first.ClientID || third.AccessToken == second.AccessToken {
		t.Error("another client, or the same token")
	}
}

// A password is posted only to the origin of its page.
func TestFlowKeepsThePassword(t *testing.T) {
	posted := false
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { posted = true }))
	defer thief.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`<form method="post" action="` + thief.URL +
			`/signin"><input name="email"><input name="password" type="password"></form>`))
	}))
	defer server.Close()
	_, err := flow.Code(context.Background(), flow.Options{BaseURL: server.URL, ClientID: "c", Email: "a@b.example",
		Password: "p"}, "b")
	if err == nil || posted {
		t.Errorf("posted %v, error %v", posted, err)
	}
}

func TestFlow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, o := range []flow.Options{
		{Tenant: "metro", Email: "ana@metro.example", Scope: "openid profile tenant.trips:read"},
		{Email: "bob@metro.example"},
		{Tenant: "metro", Audience: "rider", Email: "rita@home.example"},
		{Tenant: "metro", Audience: "driver", Email: "dan@home.example"},
	} {
		o.BaseURL, o.Password, o.HTTPClient = baseURL, password, f.client
		tokens, err := flow.Token(context.Background(), o)
		if err != nil {
			t.Errorf("%s as %q: %v", o.Email, o.Audience, err)
			continue
		}
		if tokens.AccessToken == "" || tokens.RefreshToken == "" || tokens.IDToken == "" || tokens.ExpiresIn != 3600 {
			t.Errorf("%s as %q: %+v", o.Email, o.Audience, tokens.Scope)
		}
	}
}
