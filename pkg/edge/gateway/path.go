package gateway

import (
	"net/url"
	"strings"
)

// localPath returns the event's path without the stage at the gateway's domain,
// and without the base path of a custom domain's mapping. If the event's path
// ends with the matched route and its parameters filled in, that is the API's
// own path. Parameters may be encoded in the event's path. The API's own path
// then begins at the route's literal part. On the route $default, localPath can
// remove only the stage.
//
// A greedy parameter is one segment, except {proxy+}. The event has it decoded, because an
// HTTP API decodes a path before it looks for the route: no other parameter can have an
// encoded slash. escaped is the path with its escapes, "" if it needs none of its own.
func (e *event) localPath() (decoded, escaped string) {
	path := e.fullPath()
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	route := e.route()
	if own, ok := fill(route, e.PathParameters, func(s string) string { return s }); ok && strings.HasSuffix(path, own) {
		if strings.HasSuffix(route, "+}") && !strings.HasSuffix(route, proxy) {
			escaped, _ = fill(route, e.PathParameters, url.PathEscape)
		}
		return own, escaped
	}
	if literal, _, _ := strings.Cut(route, "{"); len(literal) > 1 && literal[0] == '/' {
		if i := strings.Index(path, literal); i >= 0 {
			return path[i:], ""
		}
	}
	stage := e.stagePrefix()
	if stage == "" || !e.v2 { // in payload 1.0 the path has no stage
		return path, ""
	}
	rest, ok := strings.CutPrefix(path, stage)
	switch {
	case ok && rest == "":
		return "/", ""
	case ok && rest[0] == '/':
		return rest, ""
	default:
		return path, ""
	}
}

// proxy is a greedy parameter with any number of segments.
const proxy = "{proxy+}"

// fill puts the parameters, in the form that as gives them, into a route's path ("/trips/{id}",
// "/oauth/{proxy+}"). It returns false if the route is empty or a parameter has
// no value.
func fill(route string, parameters map[string]string, as func(string) string) (string, bool) {
	if !strings.HasPrefix(route, "/") {
		return "", false
	}
	if !strings.ContainsAny(route, "{}") {
		return route, true
	}
	var b strings.Builder
	for segment := range strings.SplitSeq(route[1:], "/") {
		b.WriteByte('/')
		name, isParameter := strings.CutPrefix(segment, "{")
		if !isParameter {
			b.WriteString(segment)
			continue
		}
		value, ok := parameters[strings.TrimSuffix(strings.TrimSuffix(name, "}"), "+")]
		if !ok || value == "" {
			return "", false
		}
		b.WriteString(as(value))
	}
	return b.String(), true
}
