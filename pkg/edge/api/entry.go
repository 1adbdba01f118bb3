package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
)

// Entry says how a request reached its operation: through the API itself, or as
// a tool of the MCP server.
type Entry struct {
	Resource  authz.Resource // the resource for which the token must have been issued
	Confirmed bool           // a person confirmed this call
	KeyLife   time.Duration  // how long the response for the Idempotency-Key is stored; 0 means retention
	polls     bool           // the request reads the next page of an open stream
	operator  operator       // the platform's operator; the zero value for every request with a token
}

// errUnconfirmed means that the request is valid and permitted, but a person
// must confirm it first. Nothing has been changed.
var errUnconfirmed = errors.New("a person must confirm the call first")

// judgeAgent checks that an agent's token may be used for the operation, through the API or
// the MCP server. If a person must confirm the call, judgeAgent sets x.asks for a call
// through the MCP server, which can ask the person. For a call through the API it returns
// an error.
func (x *exchange) judgeAgent(live authz.Live) error {
	mode := live.AgentMode()
	x.agent = mode != ""
	reads := x.row.Method == http.MethodGet // a GET needs no confirmation; its handler may be running
	message := "This company does not let agents act here."
	switch {
	case mode == "", mode == authz.AgentsAll, reads && (mode == authz.AgentsConfirm || mode == authz.AgentsRead):
		return nil
	case mode == authz.AgentsConfirm:
		if x.row.Confirm == "" || x.entry.Confirmed {
			return nil
		}
		if x.asks = x.entry.Resource.MCP(); x.asks {
			return nil
		}
		message = fmt.Sprintf("This access token is an agent's, and a person must confirm this. Call the tool %s at %s%s, "+
			"which asks the person.", x.row.ID, x.server.BaseURL, authz.AgentsPath(x.caller.Audience, live.Flags.Text("slug")))
	case mode != authz.AgentMode(live.Flags):
		message = "The person consented when this company let agents do less than now. To let the agent do this, the " +
			"person must consent again: sign in again at the agent."
	case mode == authz.AgentsRead:
		message = "This company lets agents read only. The person must do this in the app."
	}
	return &fault.Error{Kind: fault.KindFeature, Feature: authz.AgentActions, Message: message}
}

// Call serves a request with the entry. confirm reports whether a person must
// confirm the request first. In that case Call has not run the handler, and has
// written no status and no body.
func (s *Server) Call(w http.ResponseWriter, r *http.Request, e Entry) (confirm bool) {
	err := s.serve(w, r, e, (*exchange).serve)
	return errors.Is(err, errUnconfirmed)
}

// Admit checks a request that calls no operation. The token must be valid, not
// revoked, and issued for the resource and its audience. The tenant must allow
// agents, and the rate limits apply. If useful is not nil, it must accept the
// token's scopes; the error then names all scopes that the audience can use. If a
// check fails, Admit writes the error and returns false.
func (s *Server) Admit(w http.ResponseWriter, r *http.Request, e Entry, useful func([]string) bool) (scopes []string,
	ok bool) {
	anyone := &operation{Row: Row{Method: http.MethodGet,
		Policy: authz.Policy{Scopes: map[authz.Audience]string{e.Resource.Audience: ""}}}}
	err := s.serve(w, r, e, func(x *exchange, ctx context.Context) error {
		x.row = anyone
		if err := x.identify(ctx); err != nil {
			return err
		}
		if err := x.server.buckets.admit(x.server.Rates, x.caller.Actor, x.now); err != nil {
			return err
		}
		x.read(ctx)
		if err := x.checkAccess(ctx); err != nil {
			return err
		}
		scopes = x.caller.reading.live.Scopes(x.caller.Actor)
		if useful != nil && !useful(scopes) {
			return fault.InsufficientScope(x.wantedScope())
		}
		return nil
	})
	return scopes, err == nil
}

// Operation is an endpoint's row with its description in the OpenAPI document.
type Operation struct {
	Row
	Described *huma.Operation
}

// Operations returns the server's operations, sorted by id.
func (s *Server) Operations() []Operation {
	var out []Operation
	for _, route := range s.router.routes {
		for _, op := range route.methods {
			out = append(out, Operation{op.Row, op.op})
		}
	}
	slices.SortFunc(out, func(a, b Operation) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
