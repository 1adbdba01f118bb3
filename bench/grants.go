package main

import (
	"context"
	"net/url"

	"svc/pkg/base/ids"
	"svc/pkg/local/demo"
	"svc/pkg/oauth/flow"
)

// grants are the requests to the token endpoint.
var grants = []endpoint{
	{name: "POST /oauth/token refresh_token", audience: rider, form: func(ctx context.Context, w *world) (url.Values,
		error) {
		tokens, err := flow.Token(ctx, w.person())
		return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {tokens.RefreshToken},
			"client_id": {tokens.ClientID}}, err
	}},
	{name: "POST /oauth/token refresh_token without id_token", audience: rider, form: func(ctx context.Context,
		w *world) (url.Values, error) {
		o := w.person()
		o.Scope = "rider.profile:read rider.trips:read"
		tokens, err := flow.Token(ctx, o)
		return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {tokens.RefreshToken},
			"client_id": {tokens.ClientID}}, err
	}},
	{name: "POST /oauth/token authorization_code", audience: rider, form: func(ctx context.Context, w *world) (url.Values,
		error) {
		o := w.person()
		client, err := flow.Register(ctx, o)
		if err != nil {
			return nil, err
		}
		o.ClientID = client.ID
		// The first code of a client costs more: from then on the client does not expire.
		if _, err := flow.Token(ctx, o); err != nil {
			return nil, err
		}
		verifier := ids.Secret()
		code, err := flow.Code(ctx, o, verifier)
		return url.Values{"grant_type": {"authorization_code"}, "code": {code}, "client_id": {o.ClientID},
			"redirect_uri": {flow.Redirect}, "code_verifier": {verifier}}, err
	}},
}

// person is a rider of the measured tenant at an OAuth client.
func (w *world) person() flow.Options {
	return flow.Options{BaseURL: w.service.BaseURL, Tenant: slug, Audience: string(rider),
		Email:    "rider.1.1@metro.example",
		Password: demo.Password}
}
