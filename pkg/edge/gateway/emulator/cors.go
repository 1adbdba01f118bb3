package emulator

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// cors is the CorsConfiguration of the HttpApi.
type cors struct {
	origins, methods, headers, exposed []string
	maxAge                             int
	credentials                        bool
}

// newCORS decodes v, the template's CORS configuration. It returns nil if there is none.
func newCORS(v any) *cors {
	if v == true {
		return &cors{origins: []string{"*"}}
	}
	m := object(v)
	if m == nil {
		return nil
	}
	c := &cors{
		origins: texts(m["AllowOrigins"]), methods: texts(m["AllowMethods"]),
		headers: texts(m["AllowHeaders"]), exposed: texts(m["ExposeHeaders"]),
	}
	c.maxAge, _ = m["MaxAge"].(int)
	c.credentials, _ = m["AllowCredentials"].(bool)
	return c
}

// isPreflight reports whether the request is a preflight: an OPTIONS with Origin
// and Access-Control-Request-Method (Fetch standard, "CORS-preflight request").
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" &&
		r.Header.Get("Access-Control-Request-Method") != ""
}

// preflight responds to a preflight with 204, also for a path that does not
// exist.
func (c *cors) preflight(w http.ResponseWriter, r *http.Request) {
	if c.origin(w.Header(), r) {
		set(w.Header(), "Access-Control-Allow-Methods", c.methods)
		set(w.Header(), "Access-Control-Allow-Headers", c.headers)
		if c.maxAge > 0 {
			w.Header().Set("Access-Control-Max-Age", strconv.Itoa(c.maxAge))
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// answer sets the CORS headers h of a response, of a function or of the gateway
// itself. It removes the CORS headers that the function set.
func (c *cors) answer(h http.Header, r *http.Request) {
	if c == nil {
		return
	}
	for name := range h {
		if strings.HasPrefix(name, "Access-Control-") {
			h.Del(name)
		}
	}
	if c.origin(h, r) {
		set(h, "Access-Control-Expose-Headers", c.exposed)
	}
}

// origin sets the headers that allow the request's origin. It reports whether
// the origin is allowed.
func (c *cors) origin(h http.Header, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	switch {
	case origin == "":
		return false
	case slices.Contains(c.origins, "*"):
		h.Set("Access-Control-Allow-Origin", "*")
	case slices.Contains(c.origins, origin):
		h.Set("Access-Control-Allow-Origin", origin)
		h.Add("Vary", "Origin")
	default:
		return false
	}
	if c.credentials {
		h.Set("Access-Control-Allow-Credentials", "true")
	}
	return true
}

// set sets a header to the values, separated by commas. Without values it does nothing.
func set(h http.Header, name string, values []string) {
	if len(values) > 0 {
		h.Set(name, strings.Join(values, ","))
	}
}
