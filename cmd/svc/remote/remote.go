// Package remote has the commands that use a service as any client does, over HTTPS and with no
// database: svc login, logout, whoami and api. It keeps the tokens of the persons who sign in.
package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/base/outbound"
	"svc/pkg/oauth/clients"
	"svc/pkg/oauth/flow"
)

// Add adds the commands of this package.
func Add(c *cli.CLI, root *cobra.Command) {
	root.AddCommand(loginCommand(c), logoutCommand(c), whoamiCommand(c), apiCommand(c))
}

// caller is what the commands have in common: which profile, and how requests are sent.
type caller struct {
	*cli.CLI
	profile string // of --profile, "" if it was not given
	client  *http.Client
}

// newCaller returns a caller, and gives the command the flag --profile.
func newCaller(c *cli.CLI, cmd *cobra.Command) *caller {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = time.Minute
	r := &caller{CLI: c, client: &http.Client{Transport: transport,
		// A redirect could carry a token or a code to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	cmd.Flags().StringVar(&r.profile, "profile", "", "`name` of the sign-in; without it SVC_PROFILE, else default")
	return r
}

// options returns what the OAuth client needs for the command line's requests to the server.
func (r *caller) options(server string) flow.Options {
	return flow.Options{BaseURL: server, ClientID: clients.CommandLine, HTTPClient: r.client}
}

// parseServer returns the address of a server without a slash at its end. Plain http is for this
// machine only: anybody on the way could read the tokens.
func parseServer(text string) (string, error) {
	u, err := url.Parse(strings.TrimRight(text, "/"))
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "":
		return "", cli.Usagef("%q is no address of a server; expected one such as https://api.example", text)
	case u.Scheme != "https" && (u.Scheme != "http" || !outbound.IsLoopback(u.Hostname())):
		return "", cli.Usagef("%s: expected https; http is for this machine only", text)
	}
	return u.Scheme + "://" + strings.ToLower(u.Host), nil
}

// defaultServer returns the address in BASE_URL, else that of the service that runs on this machine.
func (r *caller) defaultServer(ctx context.Context) (string, error) {
	if r.Env.BaseURL != "" {
		return parseServer(r.Env.BaseURL)
	}
	running, err := r.Find(ctx)
	if err != nil {
		return "", cli.Usagef("which server? Give its address, or set BASE_URL (%w)", err)
	}
	return parseServer(running.BaseURL)
}

// logoutCommand returns the command svc logout.
func logoutCommand(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "logout", Short: "End a sign-in of svc login and forget its tokens",
		Example: "  svc logout\n  svc logout --profile bay"}
	r := newCaller(c, cmd)
	cmd.RunE = cli.Act(func(ctx context.Context, _ []string) error {
		s, err := r.store()
		if err != nil {
			return err
		}
		unlock, err := s.lock(ctx)
		if err != nil {
			return err
		}
		defer unlock()
		p, err := s.read()
		if err != nil && p.Server == "" {
			return err
		}
		if err == nil {
			err = r.revoke(ctx, p)
		}
		if gone := s.remove(); gone != nil {
			return gone
		}
		if err != nil {
			return fmt.Errorf("svc has forgotten the tokens of the profile %s, but %s did not end them: %w; end them at "+
				"%[2]s/oauth/apps", s.name, p.Server, err)
		}
		return c.Done(map[string]string{"profile": s.name, "server": p.Server}, "Signed out of %s (profile %s).", p.Server,
			s.name)
	})
	return cmd
}

// revoke ends the tokens of a profile at its server.
func (r *caller) revoke(ctx context.Context, p profile) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return flow.Revoke(ctx, r.options(p.Server), p.Tokens.Refresh)
}

// identity is what svc whoami shows.
type identity struct {
	Profile string          `json:"profile,omitempty"` // "" for a machine of the environment
	Server  string          `json:"server"`
	Me      json.RawMessage `json:"me,omitempty"`
}

// whoamiCommand returns the command svc whoami.
func whoamiCommand(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "whoami", Short: "Show as whom svc api sends requests, and to which server",
		Example: "  svc whoami\n  svc whoami --profile bay --json"}
	r := newCaller(c, cmd)
	cmd.RunE = cli.Act(func(ctx context.Context, _ []string) error {
		s, err := r.open(ctx)
		if err != nil {
			return err
		}
		return r.show(ctx, s)
	})
	return cmd
}

// show shows as whom the session sends requests.
func (r *caller) show(ctx context.Context, s *session) error {
	q, err := parseRequest([]string{http.MethodGet, "/me"}, nil)
	if err != nil {
		return err
	}
	me, err := s.read(ctx, q)
	if err != nil {
		return err
	}
	var who struct {
		Actor, ID, Name, Email string
		Membership             struct{ TenantSlug string }
		TenantSlug             string
	}
	if err := json.Unmarshal(me, &who); err != nil {
		return fmt.Errorf("the profile at %s: %w", s.server, err)
	}
	t := cli.Table{}
	t.Add("Server", s.server)
	t.Add("Profile", s.store.name)
	t.Add("Signed in", cmp.Or(who.Email, who.Name, who.ID))
	t.Add("Audience", who.Actor)
	t.Add("Company", cmp.Or(who.Membership.TenantSlug, who.TenantSlug))
	return r.Show(identity{s.store.name, s.server, me}, t)
}
