package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/http/httpguts"

	"svc/cmd/svc/cli"
	"svc/pkg/base/ids"
	"svc/pkg/edge/api"
)

// apiCommand returns the command svc api.
func apiCommand(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "api METHOD PATH", Short: "Send a request to the API, as who has signed in",
		Long: "Send a request to the API, as the person of svc login, or as the machine of SVC_CLIENT_ID and\n" +
			"SVC_CLIENT_SECRET. PATH may lack /api/v1. The answer is on standard output. An answer of 300 and above is an\n" +
			"error; with --include the answer is shown too. A POST gets an Idempotency-Key, so svc sends it again if an\n" +
			"answer is lost. The token goes to the server of the profile only.",
		Example: "  svc api GET /me\n  svc api GET '/trips?limit=5&status=PENDING'\n" +
			"  svc api POST /drivers -d '{\"email\": \"d@bay.example\", \"firstName\": \"Dee\"}'\n" +
			"  svc api PUT /zones/zon_01JMETR0000000000000000001 -d @zone.json\n  svc api GET /customers --all"}
	r := newCaller(c, cmd)
	body := cmd.Flags().StringP("body", "d", "", "`body` of the request; @FILE reads a file, @- standard input")
	headers := cmd.Flags().StringArrayP("header", "H", nil, "a `header`, such as 'If-Match: \"v1\"'; may be repeated")
	include := cmd.Flags().BoolP("include", "i", false, "show the answer's status and headers too")
	all := cmd.Flags().Bool("all", false, "read a list to its end, and print each item on a line")
	cmd.RunE = cli.Act(func(ctx context.Context, args []string) error {
		q, err := parseRequest(args, *headers)
		if err == nil && *all && q.method != http.MethodGet {
			err = cli.Usagef("--all reads a list; expected GET, got %s", q.method)
		}
		if err == nil && cmd.Flags().Changed("body") {
			q.body, err = r.bodyOf(*body)
		}
		if err != nil {
			return err
		}
		s, err := r.open(ctx)
		if err != nil {
			return err
		}
		if *all {
			return r.printAll(ctx, s, q)
		}
		res, err := s.send(ctx, q)
		if err != nil {
			return err
		}
		defer func() { _ = res.Body.Close() }()
		return r.print(s, q, res, *include)
	})
	return cmd
}

// request is a request as the command line describes it.
type request struct {
	method string
	at     *url.URL // with a host only if the command line gave one
	header http.Header
	body   []byte // nil for none
}

var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}

// parseRequest reads the arguments and the headers.
func parseRequest(args, headers []string) (request, error) {
	q := request{method: strings.ToUpper(args[0]), header: http.Header{}}
	if err := cli.Known("method", q.method, methods); err != nil {
		return q, err
	}
	// Of a path, # would cut off the end without a word. Other characters need no care of the person.
	path := regexp.MustCompile(`[^!-~]`).ReplaceAllStringFunc(args[1], url.PathEscape)
	full := strings.HasPrefix(path, "https://") || strings.HasPrefix(path, "http://")
	if path = "/" + strings.TrimLeft(path, "/"); full {
		path = path[1:]
	} else if path != "/api/v1" && !strings.HasPrefix(path, "/api/v1/") {
		path = "/api/v1" + path
	}
	var err error
	if q.at, err = url.Parse(path); err != nil || strings.Contains(path, "#") {
		return q, cli.Usagef("%q is no path; write %% as %%25 and # as %%23", args[1])
	}
	for _, line := range headers {
		name, value, ok := strings.Cut(line, ":")
		name, value = http.CanonicalHeaderKey(strings.TrimSpace(name)), strings.TrimSpace(value)
		switch {
		case !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value):
			return q, cli.Usagef("-H %q: expected Name: value", line)
		case name == "Authorization" || name == "Host":
			return q, cli.Usagef("-H %s: svc sets it itself, by the profile", name)
		}
		q.header.Add(name, value)
	}
	if q.method == http.MethodPost && q.header.Get("Idempotency-Key") == "" {
		q.header.Set("Idempotency-Key", ids.Secret())
	}
	return q, nil
}

// maxBody is the largest body that svc sends, in bytes. No endpoint takes more.
const maxBody = 10 << 20

// bodyOf returns the body that the flag names.
func (r *caller) bodyOf(text string) ([]byte, error) {
	name, named := strings.CutPrefix(text, "@")
	if !named {
		return []byte(text), nil
	}
	in := r.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	body, err := io.ReadAll(io.LimitReader(in, maxBody+1))
	if err == nil && len(body) > maxBody {
		err = fmt.Errorf("the body is larger than %d MiB", maxBody>>20)
	}
	return body, err
}

// to returns the request to the session's server, with a token. Nothing else gets the token.
func (q request) to(ctx context.Context, s *session) (*http.Request, error) {
	at := q.at.String()
	if q.at.Host == "" {
		at = s.server + at
	} else if host, err := parseServer(q.at.Scheme + "://" + q.at.Host); err != nil || host != s.server {
		return nil, cli.Usagef("the token is for %s, not for %s; sign in there with another --profile", s.server, q.at.Host)
	}
	token, err := s.token(ctx)
	if err != nil {
		return nil, err
	}
	out, err := http.NewRequestWithContext(ctx, q.method, at, bytes.NewReader(q.body))
	if err != nil {
		return nil, err
	}
	out.Header = q.header.Clone()
	out.Header.Set("Authorization", "Bearer "+token)
	if q.body != nil && out.Header.Get("Content-Type") == "" {
		out.Header.Set("Content-Type", "application/json")
	}
	return out, nil
}

// send sends the request, again if that is safe and may help.
func (s *session) send(ctx context.Context, q request) (*http.Response, error) {
	renewed := false
	for try := 0; ; {
		req, err := q.to(ctx, s)
		if err != nil {
			return nil, err
		}
		res, err := s.client.Do(req)
		if err == nil && !renewed && challenge(res)["error"] == "invalid_token" {
			_ = res.Body.Close()
			if renewed, err = true, s.renew(ctx); err != nil {
				return nil, err
			}
			continue
		}
		wait := q.wait(res, err, try)
		if wait == 0 || ctx.Err() != nil {
			return res, q.unsure(err)
		}
		if err == nil {
			_ = res.Body.Close()
		}
		try++
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
	}
}

const (
	tries    = 4                // of one request
	mostWait = 30 * time.Second // for a server that says when to come again
)

// wait returns how long to wait before the request is sent again, 0 if it is not. A PUT, PATCH or
// DELETE is sent again only if the server says that it did nothing: its second answer would be
// about what the first one did.
func (q request) wait(res *http.Response, err error, try int) time.Duration {
	again := !slices.Contains([]string{"PUT", "PATCH", "DELETE"}, q.method)
	if err == nil {
		again = res.StatusCode == http.StatusTooManyRequests || again && res.StatusCode >= http.StatusInternalServerError
	}
	if !again || try+1 >= tries {
		return 0
	}
	wait := time.Second<<try/2 + rand.N(time.Second/4) //nolint:gosec // no secret
	if err == nil {
		if n, bad := strconv.Atoi(res.Header.Get("Retry-After")); bad == nil {
			wait = max(wait, time.Duration(n)*time.Second)
		}
	}
	if wait > mostWait {
		return 0
	}
	return wait
}

// challenge returns the parameters of the header WWW-Authenticate of a 401.
func challenge(res *http.Response) map[string]string {
	out := map[string]string{}
	if res.StatusCode == http.StatusUnauthorized {
		for _, m := range challengeParameter.FindAllStringSubmatch(res.Header.Get("WWW-Authenticate"), -1) {
			out[m[1]] = m[2]
		}
	}
	return out
}

var challengeParameter = regexp.MustCompile(`([a-z_]+)="([^"]*)"`)

// print prints an answer.
func (r *caller) print(s *session, q request, res *http.Response, include bool) error {
	if include {
		fmt.Fprintf(r.Out, "%s %s\n", res.Proto, res.Status)
		for _, name := range slices.Sorted(maps.Keys(res.Header)) {
			fmt.Fprintf(r.Out, "%s: %s\n", name, cli.Printable(strings.Join(res.Header[name], ", ")))
		}
		fmt.Fprintln(r.Out)
	}
	failed := res.StatusCode >= http.StatusMultipleChoices
	if kind := res.Header.Get("Content-Type"); !failed && !strings.HasPrefix(kind, "application/json") {
		_, err := io.Copy(r.Out, res.Body) // a stream has no end
		return err
	}
	body, err := readAnswer(res)
	if err != nil {
		return err
	}
	if len(body) > 0 && (!failed || include) && json.Valid(body) {
		err = r.PrintJSON(json.RawMessage(body))
	}
	if failed {
		err = s.refusal(q, res, body)
	}
	return err
}

// refusal returns the error of an answer that is none of success. It says what helps.
func (s *session) refusal(q request, res *http.Response, body []byte) error {
	var e api.ErrorBody
	text := res.Status
	if json.Unmarshal(body, &e) == nil && e.Error != "" {
		text = fmt.Sprintf("%d %s: %s", res.StatusCode, e.Error, e.Description)
		for _, d := range e.Details {
			text += "; " + d.Field + ": " + d.Message
		}
	}
	maxAge, _ := strconv.Atoi(challenge(res)["max_age"])
	switch {
	case res.StatusCode < http.StatusBadRequest:
		text += fmt.Sprintf(" to %s; svc follows no redirect", res.Header.Get("Location"))
	case maxAge > 0 && s.store.name != "":
		text += fmt.Sprintf("; run %s --max-age %ds, and send it again", s.store.signIn(), maxAge)
	case res.StatusCode == http.StatusUnauthorized && s.store.name != "":
		text += "; run " + s.store.signIn()
	case res.StatusCode >= http.StatusInternalServerError && q.method == http.MethodPost:
		return q.unsure(errors.New(text))
	}
	return errors.New(text)
}

// unsure adds to the error of a POST how to find out whether it was carried out.
func (q request) unsure(err error) error {
	if err == nil || q.method != http.MethodPost {
		return err
	}
	return fmt.Errorf("%w; to learn whether it was done, send it again with -H 'Idempotency-Key: %s'", err,
		q.header.Get("Idempotency-Key"))
}

// read returns the answer to a GET that must succeed.
func (s *session) read(ctx context.Context, q request) (json.RawMessage, error) {
	res, err := s.send(ctx, q)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := readAnswer(res)
	if err == nil && res.StatusCode != http.StatusOK {
		err = s.refusal(q, res, body)
	}
	return body, err
}

// maxAnswer is the largest answer that svc takes into memory, in bytes.
const maxAnswer = 64 << 20

func readAnswer(res *http.Response) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, res.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("the answer ended too early: %w", err)
	}
	return body, nil
}

// printAll prints the items of a list, page by page.
func (r *caller) printAll(ctx context.Context, s *session, q request) error {
	for seen := map[string]bool{}; ; {
		page, err := s.read(ctx, q)
		if err != nil {
			return err
		}
		var list struct {
			Items []json.RawMessage
			Next  *string `json:"next_cursor"`
		}
		err = json.Unmarshal(page, &list)
		if err != nil || list.Items == nil || !bytes.Contains(page, []byte(`"next_cursor"`)) {
			return errors.New("the answer is no list with pages; leave out --all")
		}
		for _, item := range list.Items {
			var line bytes.Buffer
			if err := json.Compact(&line, item); err != nil {
				return err
			}
			if _, err := fmt.Fprintln(r.Out, line.String()); err != nil {
				return err
			}
		}
		if list.Next == nil {
			return nil
		}
		if seen[*list.Next] {
			return errors.New("the list has no end: a cursor came twice")
		}
		seen[*list.Next] = true
		query := q.at.Query()
		query.Set("cursor", *list.Next)
		q.at.RawQuery = query.Encode()
	}
}
