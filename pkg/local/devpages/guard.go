package devpages

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// forms are the paths of the forms that a session's cookie authorizes. Their
// pages are the only ones that may post them.
var forms = []string{"/oauth/signin", "/oauth/tenant", "/oauth/consent", "/oauth/password", "/oauth/forgot",
	"/oauth/signup", "/oauth/apps", "/oauth/terms"}

// guard passes a request on if no web page of another origin can profit from it.
// It rejects host names that are not this machine's: a web page whose own name
// points to this machine (DNS rebinding) sends that name. It also rejects forms
// of other origins. Requests of other origins to the API pass: they need a
// token, which a browser does not add by itself.
func (p *Pages) guard(next http.Handler) http.Handler {
	var origins http.CrossOriginProtection
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !p.answersTo(r) {
			http.Error(w, "svc dev answers to the names of this machine and to the domains of its tenants only. "+
				"If a proxy or a tunnel leads here, start svc dev with --allow-host and the name in the address.",
				http.StatusForbidden)
			return
		}
		if slices.Contains(forms, r.URL.Path) && origins.Check(r) != nil && !nameless(r) {
			http.Error(w, "A page of another origin sent this form.", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// nameless reports whether the browser could not name the origin of its form. The
// pages send no referrer, which makes Origin null, and Sec-Fetch-Site is sent only
// to secure addresses and to localhost. The form's own token then decides.
func nameless(r *http.Request) bool {
	host := hostOf(r)
	address, err := netip.ParseAddr(host)
	local := host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && address.IsLoopback()
	return !local && r.Header.Get("Origin") == "null" && r.Header.Get("Sec-Fetch-Site") == ""
}

// answersTo reports whether the request's Host header names this machine, is one
// of p.Hosts, or is a tenant's domain.
func (p *Pages) answersTo(r *http.Request) bool {
	host := hostOf(r)
	return host == "" || ownName(host) || slices.Contains(p.Hosts, host) ||
		p.IsDomain != nil && p.IsDomain(r.Context(), host)
}

// hostOf returns the Host header's name in lower case, without port, brackets
// and a dot at its end.
func hostOf(r *http.Request) string {
	u := url.URL{Host: strings.ToLower(r.Host)}
	return strings.TrimSuffix(u.Hostname(), ".")
}

// ownName reports whether a name cannot be a foreign web page's: an address, a
// name below localhost (RFC 6761 section 6.3), a name without a dot, as a
// container has, or Docker's name of this machine.
func ownName(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || !strings.Contains(host, ".") || strings.HasSuffix(host, ".localhost") ||
		host == "host.docker.internal"
}
