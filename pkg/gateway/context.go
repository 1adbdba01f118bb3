package gateway

import "context"

// edge is what the gateway vouches for.
type edge struct {
	sourceIP string
	baseURL  string
	event    *event
}

type edgeKey struct{}

func withEdge(ctx context.Context, e *edge) context.Context {
	return context.WithValue(ctx, edgeKey{}, e)
}

func edgeOf(ctx context.Context) edge {
	if e, ok := ctx.Value(edgeKey{}).(*edge); ok {
		return *e
	}
	return edge{}
}

// SourceIP gives the client's address as the gateway saw it, without a port,
// "" when it is unknown. No header of the client has a part in it.
func SourceIP(ctx context.Context) string { return edgeOf(ctx).sourceIP }

// BaseURL gives the https address at which the gateway was reached, with the
// stage where that is part of the path, without a slash at its end; "" when the
// event names no domain. The gateway routes by domain, so no client can forge it.
func BaseURL(ctx context.Context) string { return edgeOf(ctx).baseURL }

// ownURL gives the address that the API has of itself; that of BaseURL where the
// event does not say enough.
func ownURL(ctx context.Context) string {
	if e := edgeOf(ctx).event; e != nil {
		return e.ownURL()
	}
	return ""
}
