package gateway

import "context"

// edge is what the gateway itself reports about a request.
type edge struct {
	sourceIP string
	event    *event
}

type edgeKey struct{}

// withEdge returns a context with what the gateway reports about a request.
func withEdge(ctx context.Context, e *edge) context.Context {
	return context.WithValue(ctx, edgeKey{}, e)
}

// edgeOf returns what withEdge stored in the context, or the zero edge.
func edgeOf(ctx context.Context) edge {
	if e, ok := ctx.Value(edgeKey{}).(*edge); ok {
		return *e
	}
	return edge{}
}

// SourceIP returns the client's address as the gateway saw it, without a port,
// "" if it is unknown. No header of the client changes it.
func SourceIP(ctx context.Context) string { return edgeOf(ctx).sourceIP }

// Direct reports whether a caller with the right lambda:InvokeFunction sent the
// event, not a gateway. An example is the smoke test of a deployment. No client
// can make a gateway send an event that looks like one.
func Direct(ctx context.Context) bool {
	e := edgeOf(ctx).event
	return e != nil && e.direct()
}

// fromGateway reports whether the event names the gateway that sent it.
func fromGateway(ctx context.Context) bool {
	e := edgeOf(ctx).event
	return e != nil && e.RequestContext.APIID != ""
}

// ownURL returns the API's own address, not that of a custom domain. If it is unknown,
// ownURL returns the address that the request used. Without an event it returns "".
func ownURL(ctx context.Context, region string) string {
	if e := edgeOf(ctx).event; e != nil {
		return e.ownURL(region)
	}
	return ""
}
