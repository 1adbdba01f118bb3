package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/base/fault"
)

// Entry is how a request came to its operation: over the API itself, or as a
// tool of the MCP server.
type Entry struct {
	Resource  authz.Resource // that the token must have been issued for
	Confirmed bool           // a person confirmed this call
	KeyLife   time.Duration  // how long the response for the Idempotency-Key is stored; 0: retention
}

// errUnconfirmed means that the request is valid and permitted, but a person
// must confirm it first. Nothing has been changed.
var errUnconfirmed = errors.New("a person must agree first")

// judgeEntry checks that the tenant lets agents do this.
func (x *exchange) judgeEntry(live authz.Live) error {
	if !x.entry.Resource.MCP() {
		return nil
	}
	allowed := cmp.Or(live.Flags.Text(authz.AgentActions), authz.AgentsConfirm)
	if allowed == authz.AgentsOff || allowed == authz.AgentsRead && x.row.Method != http.MethodGet {
		return &fault.Error{Kind: fault.KindFeature, Feature: authz.AgentActions,
			Message: map[string]string{authz.AgentsOff: "This company does not let agents act here.",
				authz.AgentsRead: "This company lets agents read only. The person must do this in the app."}[allowed]}
	}
	if x.row.Method != http.MethodGet { // a read needs no agreement, and runs beside its checks
		x.asks = allowed != authz.AgentsAll && x.row.Confirm != "" && !x.entry.Confirmed
	}
	return nil
}

// Call serves a request that came by the entry. confirm reports that a person
// must confirm it first. In that case nothing was done and nothing was written
// to w.
func (s *Server) Call(w http.ResponseWriter, r *http.Request, e Entry) (confirm bool) {
	_, err := s.serve(w, r, e, (*exchange).serve)
	return errors.Is(err, errUnconfirmed)
}

// Admit checks a request that calls no operation: its token is valid, not
// revoked, and was issued for the resource. Otherwise it writes the error and
// returns false.
func (s *Server) Admit(w http.ResponseWriter, r *http.Request, e Entry) (signing.Access, bool) {
	anyone := &operation{Row: Row{Method: http.MethodGet,
		Policy: authz.Policy{Scopes: map[authz.Audience]string{e.Resource.Audience: ""}}}}
	x, err := s.serve(w, r, e, func(x *exchange, ctx context.Context) error {
		x.row = anyone
		if err := x.identify(ctx); err != nil {
			return err
		}
		if err := x.server.buckets.admit(x.server.Rates, x.caller.Actor, x.now); err != nil {
			return err
		}
		x.read(ctx)
		return x.judge(ctx)
	})
	if err != nil {
		return signing.Access{}, false
	}
	return x.caller.Actor, true
}

// Operation is a row with its description in the OpenAPI document.
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
