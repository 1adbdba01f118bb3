package gateway

import "strings"

// localPath is the event's path without what stands before the API's own: the
// stage at the gateway's domain, or the base path of a custom domain's mapping.
// The route that matched, with its parameters filled in, is the API's own path
// (parameters may come encoded: then it begins at the route's literal part);
// only where the route says nothing ($default) is the stage looked at.
func (e *event) localPath() string {
	path := e.fullPath()
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	route := e.route()
	if own, ok := fill(route, e.PathParameters); ok && strings.HasSuffix(path, own) {
		return own
	}
	if literal, _, _ := strings.Cut(route, "{"); len(literal) > 1 && literal[0] == '/' {
		if i := strings.Index(path, literal); i >= 0 {
			return path[i:]
		}
	}
	stage := e.stagePrefix()
	if stage == "" || !e.v2 { // path has no stage in payload 1.0
		return path
	}
	rest, ok := strings.CutPrefix(path, stage)
	switch {
	case ok && rest == "":
		return "/"
	case ok && rest[0] == '/':
		return rest
	default:
		return path
	}
}

// fill puts the parameters into a route's path ("/trips/{id}", "/oauth/{proxy+}").
// It reports false when the route is none or lacks a parameter.
func fill(route string, parameters map[string]string) (string, bool) {
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
		b.WriteString(value)
	}
	return b.String(), true
}
