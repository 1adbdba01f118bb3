package api

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"svc/pkg/base/fault"
)

// router finds rows by path and method. Unlike net/http's router, it never
// redirects and never writes a response.
type router struct{ routes []*route }

type route struct {
	segments []string
	methods  map[string]*operation
}

func (rt *router) add(method, path string, op *operation) {
	segments := strings.Split(path, "/")
	for _, r := range rt.routes {
		if slices.Equal(r.segments, segments) {
			r.methods[method] = op
			return
		}
	}
	rt.routes = append(rt.routes, &route{segments, map[string]*operation{method: op}})
}

// find returns the operation for a request and sets the request's path values.
// HEAD finds the operation of GET. If several routes match, find takes the one
// with the most fixed segments, and of these the one that differs first by a fixed
// segment. It returns a 404 for an unknown path, and a 405 for a method that the path
// does not have.
func (rt *router) find(r *http.Request) (*operation, error) {
	asked := strings.Split(r.URL.EscapedPath(), "/")
	var best *route
	for _, candidate := range rt.routes {
		if candidate.matches(asked) && (best == nil || candidate.rank() > best.rank()) {
			best = candidate
		}
	}
	if best == nil {
		return nil, fault.NotFound()
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	op, ok := best.methods[method]
	if !ok {
		return nil, &fault.Error{Kind: fault.KindMethod, Allow: best.allow(),
			Message: "The resource does not support this method."}
	}
	for i, segment := range best.segments {
		if name, ok := parameter(segment); ok {
			value, err := url.PathUnescape(asked[i])
			if err != nil {
				return nil, fault.NotFound()
			}
			r.SetPathValue(name, value)
		}
	}
	return op, nil
}

func (rt *route) matches(asked []string) bool {
	if len(asked) != len(rt.segments) {
		return false
	}
	for i, segment := range rt.segments {
		if _, ok := parameter(segment); ok {
			if asked[i] == "" {
				return false
			}
			continue
		}
		if segment != asked[i] {
			return false
		}
	}
	return true
}

// rank is higher for more fixed segments, then for fixed segments further left.
func (rt *route) rank() int {
	n, places := 0, 0
	for _, segment := range rt.segments {
		places <<= 1
		if _, ok := parameter(segment); !ok {
			n, places = n+1, places|1
		}
	}
	return n<<32 | places
}

func (rt *route) allow() string {
	var methods []string
	for m := range rt.methods {
		methods = append(methods, m)
		if m == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	slices.Sort(methods)
	return strings.Join(methods, ", ")
}

func parameter(segment string) (string, bool) {
	if strings.HasPrefix(segment, "{") && strings.HasSuffix(segment, "}") {
		return segment[1 : len(segment)-1], true
	}
	return "", false
}
