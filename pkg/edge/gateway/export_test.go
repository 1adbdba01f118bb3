package gateway

import "context"

// BaseURL returns the address at which the gateway was reached.
func BaseURL(ctx context.Context) string { return edgeOf(ctx).event.baseURL() }
