package api

import (
	"net/http"

	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
)

// operator is the platform's operator, whose credentials open the table itself.
type operator struct{ tenant, who string }

// operated reports whether the platform's operator calls.
func (x *exchange) operated() bool { return x.entry.operator != (operator{}) }

// access returns what a token of the operator would claim.
func (o operator) access() signing.Access {
	return signing.Access{ID: o.who, Subject: o.who, Audience: string(authz.Dashboard), TenantID: o.tenant}
}

// Operate serves a request of the platform's operator, without a token, to the tenant with
// the id. who is the actor of the change in the audit log. Everything else is as for an
// operator of the tenant who has every permission, but the tenant may be disabled. Only
// svc calls Operate. No function may: its caller is not authenticated.
func (s *Server) Operate(w http.ResponseWriter, r *http.Request, tenant, who string) {
	_ = s.serve(w, r, Entry{Resource: itself, operator: operator{tenant, who}}, (*exchange).serve) // the error is written
}
