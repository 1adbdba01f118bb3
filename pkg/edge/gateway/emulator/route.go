package emulator

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Route is a route of the HTTP API: a function's event of type HttpApi in the template.
type Route struct {
	Function string // logical id of the function in the template
	Method   string // upper case; ANY matches every method
	Path     string // may have {parameter} and a final {greedy+}; "$default" matches the rest
}

// Default is the path of the route that matches when no other route does.
const Default = "$default"

// key returns the route's key in an event.
func (r Route) key() string {
	if r.Path == Default {
		return Default
	}
	return r.Method + " " + r.Path
}

// Routes returns the routes of a SAM template, sorted by path and method.
func Routes(text []byte) ([]Route, error) {
	t, err := parse(text)
	if err != nil {
		return nil, err
	}
	return t.routes()
}

// routes returns the routes of the template, sorted by path and method. It returns an
// error for a malformed or repeated route.
func (t *template) routes() ([]Route, error) {
	seen := map[string]string{}
	routes, err := eventsOf(t, "HttpApi", func(function string, properties map[string]any) (Route, error) {
		r, err := newRoute(function, properties)
		if other, twice := seen[r.key()]; twice && err == nil {
			err = fmt.Errorf("the function %s already has the route %s", other, r.key())
		}
		seen[r.key()] = function
		return r, err
	})
	slices.SortFunc(routes, func(a, b Route) int {
		return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method)
	})
	return routes, err
}

// newRoute returns the route of an HttpApi event with the properties p.
func newRoute(function string, p map[string]any) (Route, error) {
	path, hasPath := p["Path"].(string)
	method, hasMethod := p["Method"].(string)
	if !hasPath && !hasMethod || path == Default {
		return Route{Function: function, Method: "ANY", Path: Default}, nil
	}
	r := Route{Function: function, Method: strings.ToUpper(method), Path: path}
	if !hasMethod || r.Method == "X-AMAZON-APIGATEWAY-ANY-METHOD" {
		r.Method = "ANY"
	}
	switch r.Method {
	case "ANY", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
	default:
		return r, fmt.Errorf("%q is not a method", method)
	}
	if !strings.HasPrefix(path, "/") {
		return r, fmt.Errorf("the path %q does not begin with a slash", path)
	}
	segments := strings.Split(path[1:], "/")
	for i, s := range segments {
		open := strings.ContainsAny(s, "{}")
		name, greedy := parameter(s)
		if open && name == "" || greedy && i < len(segments)-1 {
			return r, fmt.Errorf("the path %q has a malformed parameter", path)
		}
	}
	return r, nil
}

// parameter returns the name in {name} or {name+}, "" if the segment is not a
// parameter.
func parameter(segment string) (name string, greedy bool) {
	if len(segment) < 3 || segment[0] != '{' || segment[len(segment)-1] != '}' {
		return "", false
	}
	name = segment[1 : len(segment)-1]
	name, greedy = strings.CutSuffix(name, "+")
	if strings.ContainsAny(name, "{}+") {
		return "", false
	}
	return name, greedy
}

// table holds the routes, sorted for the search.
type table struct {
	routes   []compiled
	fallback *Route
}

// compiled is a route with its path split at the slashes.
type compiled struct {
	Route
	segments []string
}

// newTable returns the table of the routes.
func newTable(routes []Route) table {
	var t table
	for _, r := range routes {
		if r.Path == Default {
			t.fallback = &r
			continue
		}
		t.routes = append(t.routes, compiled{r, strings.Split(r.Path[1:], "/")})
	}
	// find takes the first match. Therefore the most specific routes come first.
	slices.SortStableFunc(t.routes, func(a, b compiled) int {
		return strings.Compare(a.rank(), b.rank())
	})
	return t
}

// rank returns the route's sort key. Greedy routes, whose last parameter matches several
// segments, come after all others. Then, segment by segment, static comes before
// parameter, and parameter before greedy. So a greedy route with more segments comes
// before one with fewer. Then a method comes before ANY.
func (c compiled) rank() string {
	var b strings.Builder
	_, greedy := parameter(c.segments[len(c.segments)-1])
	b.WriteByte(digit(greedy))
	for _, s := range c.segments {
		name, greedy := parameter(s)
		switch {
		case greedy:
			b.WriteByte('2')
		case name != "":
			b.WriteByte('1')
		default:
			b.WriteByte('0')
		}
	}
	b.WriteByte('3') // separates the segments from the method
	b.WriteByte(digit(c.Method == "ANY"))
	return b.String()
}

// digit returns '1' for true and '0' for false, for a sort key.
func digit(b bool) byte {
	if b {
		return '1'
	}
	return '0'
}

// find returns the route of a request and its decoded path parameters. It
// returns false if no route matches or the path is malformed. A percent-encoded
// slash is part of its segment. HEAD is a separate method: GET routes do not
// match it.
func (t table) find(method, escapedPath string) (Route, map[string]string, bool) {
	parts := strings.Split(strings.TrimPrefix(escapedPath, "/"), "/")
	for i, p := range parts {
		decoded, err := url.PathUnescape(p)
		if err != nil {
			return Route{}, nil, false
		}
		parts[i] = decoded
	}
	for _, c := range t.routes {
		if c.Method != "ANY" && c.Method != method {
			continue
		}
		if parameters, ok := c.match(parts); ok {
			return c.Route, parameters, true
		}
	}
	if t.fallback == nil {
		return Route{}, nil, false
	}
	return *t.fallback, nil, true
}

// match returns the path parameters if the decoded segments of a path match the route.
func (c compiled) match(parts []string) (map[string]string, bool) {
	var parameters map[string]string
	set := func(name, value string) bool {
		if parameters == nil {
			parameters = map[string]string{}
		}
		parameters[name] = value
		return value != ""
	}
	for i, s := range c.segments {
		if i >= len(parts) {
			return nil, false
		}
		name, greedy := parameter(s)
		switch {
		case greedy:
			ok := set(name, strings.Join(parts[i:], "/"))
			return parameters, ok
		case name != "":
			if !set(name, parts[i]) {
				return nil, false
			}
		case s != parts[i]:
			return nil, false
		}
	}
	return parameters, len(parts) == len(c.segments)
}
