package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"svc/cmd/svc/cli"
	"svc/pkg/oauth/flow"
)

// session sends requests as a person who has signed in, or as a machine.
type session struct {
	server  string
	client  *http.Client
	options flow.Options // the client to which the tokens belong
	store   store        // the person's; zero for a machine
	tokens  tokens       // a machine's are nowhere else
}

// open opens the session of the machine in the environment, unless --profile names a sign-in.
func (r *caller) open(ctx context.Context) (*session, error) {
	if r.profile == "" && (r.Env.MachineID != "" || r.Env.MachineSecret != "") {
		if r.Env.MachineID == "" || r.Env.MachineSecret == "" {
			return nil, cli.Usagef("SVC_CLIENT_ID and SVC_CLIENT_SECRET belong together; one is missing")
		}
		server, err := r.defaultServer(ctx)
		o := r.options(server)
		o.ClientID, o.ClientSecret = r.Env.MachineID, r.Env.MachineSecret
		return &session{server: server, client: r.client, options: o}, err
	}
	s, err := r.store()
	if err != nil {
		return nil, err
	}
	p, err := s.read()
	if err != nil {
		return nil, err
	}
	if at, err := parseServer(r.Env.BaseURL); r.profile == "" && err == nil && at != p.Server {
		return nil, cli.Usagef("BASE_URL is %s, and the profile %s is of %s; give --profile %[2]s to use it", at, s.name,
			p.Server)
	}
	return &session{server: p.Server, client: r.client, options: r.options(p.Server), store: s, tokens: p.Tokens}, nil
}

const (
	leeway     = 30 * time.Second // a token that ends sooner is renewed before it is sent
	answerTime = 30 * time.Second // how long the authorization server may take
)

// token returns an access token that is good for a while.
func (s *session) token(ctx context.Context) (string, error) {
	if time.Until(s.tokens.Until) < leeway {
		if err := s.renew(ctx); err != nil {
			return "", err
		}
	}
	return s.tokens.Access, nil
}

// renew replaces the access token. Of several processes one refreshes, and the others take over
// what it got.
func (s *session) renew(ctx context.Context) error {
	if s.store.name == "" {
		ctx, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		got, err := flow.Grant(ctx, s.options, url.Values{"grant_type": {"client_credentials"}})
		s.tokens = keep(got)
		return err
	}
	unlock, err := s.store.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	p, err := s.store.read()
	if err != nil {
		return err
	}
	if p.Server != s.server {
		return fmt.Errorf("the profile %s was signed in at %s meanwhile; send the request again", s.store.name, p.Server)
	}
	if p.Tokens.Access == s.tokens.Access || time.Until(p.Tokens.Until) < leeway {
		// After an interruption in the middle nobody would have the next refresh token.
		if p.Tokens, err = s.refresh(context.WithoutCancel(ctx), p.Tokens.Refresh); err != nil {
			return err
		}
		if err := s.store.write(p); err != nil {
			return fmt.Errorf("the new tokens are lost: %w; run %s", err, s.store.signIn())
		}
	}
	s.tokens = p.Tokens
	return nil
}

// refresh uses a refresh token. If the answer is lost it asks once more, because the server may
// let a client repeat the request for some seconds.
func (s *session) refresh(ctx context.Context, token string) (out tokens, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for range 2 {
		got, failed := flow.Refresh(ctx, s.options, token)
		if failed == nil && got.AccessToken == "" {
			failed = errors.New("the answer has no token")
		}
		if failed == nil {
			out = keep(got)
			out.Refresh = cmp.Or(out.Refresh, token) // RFC 6749 section 6
			return out, nil
		}
		err = fmt.Errorf("refreshing the tokens of the profile %s: %w", s.store.name, failed)
		var refused *flow.Error
		if !errors.As(failed, &refused) || refused.Status >= http.StatusInternalServerError {
			continue
		}
		if refused.Code == "invalid_grant" || refused.Code == "invalid_client" {
			err = fmt.Errorf("the sign-in of the profile %s at %s has ended; run %s", s.store.name, s.server, s.store.signIn())
		}
		break
	}
	return out, err
}
