package remote

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/access/authz"
	"svc/pkg/oauth/flow"
)

// login is one run of svc login.
type login struct {
	*caller
	flow.Options
	extra url.Values // further parameters of the request for a sign-in
}

// loginCommand returns the command svc login.
func loginCommand(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "login [URL]", Short: "Sign in at a service, for svc api",
		Long: "Sign in at a service, for svc api. svc opens a browser. Where there is none, as over SSH, it shows an\n" +
			"address and a code, to enter in a browser of any device; --device does so everywhere, --device=false nowhere.\n" +
			"The server is URL, else that of the profile, of BASE_URL, or the one that runs on this machine. Tenant,\n" +
			"audience and scope are the profile's too, unless they are given.\n\n" +
			"The tokens are in a file that only you can read. If the system has a keyring, it has the key of that file.",
		Example: "  svc login\n  svc login https://api.bay.example --profile bay\n" +
			"  svc login --audience rider --tenant metro --profile rider\n  svc login --max-age 5m"}
	r, p := newCaller(c, cmd), profile{}
	cmd.Flags().StringVar(&p.Tenant, "tenant", "", "`slug`; without it a page asks")
	cmd.Flags().StringVar(&p.Audience, "audience", "", "`audience`: dashboard (the default), rider or driver")
	cmd.Flags().StringVar(&p.Scope, "scope", "", "`scopes` to ask for, separated by spaces; without it all")
	device := cmd.Flags().Bool("device", false, "show a code to enter in a browser of any device")
	age := cmd.Flags().Duration("max-age", 0, "ask for the password if you signed in longer ago, such as 5m")
	cmd.RunE = cli.Act(func(ctx context.Context, args []string) error {
		s, err := r.store()
		if err != nil {
			return err
		}
		p, err := r.asked(ctx, s, p, args)
		if err != nil {
			return err
		}
		l := &login{caller: r, Options: r.options(p.Server), extra: url.Values{"audience": {p.Audience}}}
		l.Tenant, l.Audience, l.Scope = p.Tenant, p.Audience, p.Scope
		if cmd.Flags().Changed("max-age") {
			l.extra.Set("max_age", strconv.Itoa(int(age.Seconds())))
		}
		got, err := l.signIn(ctx, cmd.Flags().Changed("device"), *device)
		if err != nil {
			return err
		}
		p.Tokens = keep(got)
		if cmd.Flags().Changed("max-age") && signInAge(got.IDToken) > *age+time.Minute {
			_ = r.revoke(ctx, p)
			return fmt.Errorf("the browser did not ask for the password; sign out at %s/oauth/logout, and try again",
				p.Server)
		}
		if err := r.save(ctx, s, p); err != nil {
			return err
		}
		now := &session{server: p.Server, client: r.client, options: l.Options, store: s, tokens: p.Tokens}
		if r.show(ctx, now) == nil {
			return nil
		}
		return c.Done(identity{Profile: s.name, Server: p.Server}, "Signed in at %s (profile %s).", p.Server, s.name)
	})
	return cmd
}

// signInAge returns how long before the tokens the person signed in, by the server's clock. A
// client that asks for max_age checks it (OpenID Connect Core section 3.1.3.7). The signature would
// prove nothing more, because the id_token comes from the server itself.
func signInAge(idToken string) time.Duration {
	_, rest, _ := strings.Cut(idToken, ".")
	payload, _, _ := strings.Cut(rest, ".")
	var claims struct {
		IssuedAt int64 `json:"iat"`
		AuthTime int64 `json:"auth_time"`
	}
	text, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil || json.Unmarshal(text, &claims) != nil {
		return 0 // without the scope openid there is none
	}
	return time.Duration(claims.IssuedAt-claims.AuthTime) * time.Second
}

// asked completes what the command line says by the profile and the defaults.
func (r *caller) asked(ctx context.Context, s store, p profile, args []string) (profile, error) {
	was, _ := s.read() // a sign-in replaces whatever is there
	var err error
	switch {
	case len(args) > 0:
		p.Server, err = parseServer(args[0])
	case was.Server != "":
		p.Server = was.Server
	default:
		p.Server, err = r.defaultServer(ctx)
	}
	if err != nil {
		return p, err
	}
	if p.Server == was.Server && (p.Audience == "" || p.Audience == was.Audience) {
		p.Audience, p.Tenant, p.Scope = was.Audience, cmp.Or(p.Tenant, was.Tenant), cmp.Or(p.Scope, was.Scope)
	}
	audience, err := cli.AudienceOf(cmp.Or(p.Audience, string(authz.Dashboard)))
	p.Audience = string(audience)
	return p, err
}

// save stores the tokens, and ends those that they replace.
func (r *caller) save(ctx context.Context, s store, p profile) error {
	unlock, err := s.lock(ctx)
	if err == nil {
		defer unlock()
		was, unread := s.read()
		if p.key = was.key; p.key == nil {
			p.key = s.makeKey()
		}
		if p.key == nil {
			fmt.Fprintf(r.Err, "svc: no keyring; the tokens are in %s\n", s.file)
		}
		if err = s.write(p); err == nil && unread == nil {
			_ = r.revoke(ctx, was) // it would end by itself in 90 days
		}
	}
	if err != nil {
		_ = r.revoke(context.WithoutCancel(ctx), p)
		return fmt.Errorf("the tokens could not be stored: %w", err)
	}
	return nil
}

// signIn signs the person in: by a code if device says so, or where no browser is.
func (l *login) signIn(ctx context.Context, given, device bool) (flow.Tokens, error) {
	endpoint, err := l.discover(ctx)
	switch {
	case err != nil:
		return flow.Tokens{}, err
	case device && endpoint == "":
		return flow.Tokens{}, fmt.Errorf("%s signs nobody in by a code; leave out --device", l.BaseURL)
	case device, !given && endpoint != "" && !l.hasBrowser():
		return l.byDevice(ctx, endpoint)
	}
	return l.byBrowser(ctx)
}

// hasBrowser reports whether a browser that svc opens is before the person.
func (r *caller) hasBrowser() bool {
	return r.Env.SSHSession == "" && (runtime.GOOS == "darwin" || r.Env.Display != "" || r.Env.Wayland != "")
}

// discover checks that the server is the issuer of its tokens, as a client must (RFC 8414 section
// 3.3), and returns its device authorization endpoint, "" if it has none.
func (l *login) discover(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.BaseURL+"/.well-known/oauth-authorization-server", nil)
	if err != nil {
		return "", err
	}
	res, err := l.client.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	var found struct {
		Issuer string `json:"issuer"`
		Device string `json:"device_authorization_endpoint"`
	}
	err = json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&found)
	switch {
	case res.StatusCode != http.StatusOK || err != nil || found.Issuer == "":
		return "", fmt.Errorf("%s is no service of this kind: its metadata cannot be read (%s)", l.BaseURL, res.Status)
	case found.Issuer != l.BaseURL:
		return "", fmt.Errorf("%s signs people in at %s; run svc login with that address", l.BaseURL, found.Issuer)
	case found.Device != "" && !strings.HasPrefix(found.Device, l.BaseURL+"/"):
		return "", fmt.Errorf("the metadata of %s name an endpoint of another host: %s", l.BaseURL, found.Device)
	}
	return found.Device, nil
}

// byDevice signs in with a browser of any device (RFC 8628). It never shows a link that has the
// code in it: whoever enters a code that he reads here knows that the request is his.
func (l *login) byDevice(ctx context.Context, endpoint string) (flow.Tokens, error) {
	form := l.extra
	form.Set("scope", l.Request("", "").Get("scope"))
	if l.Tenant != "" {
		form.Set("tenant_hint", l.Tenant)
	}
	begin, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	d, err := flow.StartDevice(begin, l.Options, endpoint, form)
	if err != nil {
		return flow.Tokens{}, fmt.Errorf("asking %s for a code: %w", l.BaseURL, err)
	}
	fmt.Fprintf(l.Err, "Open this address in a browser of any device:\n\n  %s\n\n", cli.Printable(d.URI))
	fmt.Fprintf(l.Err, "and enter this code within %s:\n\n  %s\n\n",
		cli.Span(time.Duration(d.ExpiresIn)*time.Second), cli.Printable(d.UserCode))
	got, err := d.Poll(ctx, l.Options, func(err error) {
		fmt.Fprintf(l.Err, "svc: %s; asking again\n", cli.Printable(err.Error()))
	})
	return got, denied(ctx, err)
}

// denied explains the usual ends of a sign-in without tokens.
func denied(ctx context.Context, err error) error {
	var refused *flow.Error
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.New("stopped; nobody was signed in")
	case errors.As(err, &refused) && refused.Code == "access_denied":
		return errors.New("access was denied in the browser; nobody was signed in")
	}
	return err
}
