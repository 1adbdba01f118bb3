package table

import (
	"bytes"
	"context"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// The SDK decodes an item into a map of pointers, with about sixty allocations
// for each item. To avoid this, decoder extracts the items of a get, a batch get
// or a query before the SDK decodes the response. The SDK then decodes the rest:
// capacity, counts, keys to continue with, and all errors. The SDK also decodes
// any response that decoder does not understand.

// responseKey is the context key of the response that receives the items of a request.
type responseKey struct{}

// response receives the items of one request.
type response struct {
	items   []Item
	decoded bool // decoder read the items; if false, the SDK did
}

// wanting returns a context and the response that receives the items of the
// request sent with that context.
func wanting(ctx context.Context) (context.Context, *response) {
	r := &response{}
	return context.WithValue(ctx, responseKey{}, r), r
}

// or returns the items that decoder read from the response. If decoder did not understand
// the response, the result has the items in decoded, which the SDK read.
func (r *response) or(decoded []map[string]types.AttributeValue) []Item {
	if r.decoded {
		return r.items
	}
	items := make([]Item, len(decoded))
	for i, raw := range decoded {
		items[i] = Decoded(raw)
	}
	return items
}

// protocol is the SDK's JSON protocol, but reads the items of a response with decoder.
type protocol struct{ smithyhttp.ClientProtocol }

// DeserializeResponse takes the items out of a response before the SDK decodes
// it.
func (p protocol) DeserializeResponse(ctx context.Context, schema *smithy.OperationSchema, types *smithy.TypeRegistry,
	res *smithyhttp.Response, out smithy.Deserializable) error {
	wanted, wants := ctx.Value(responseKey{}).(*response)
	if body, ok := res.Body.(complete); ok && wants && res.StatusCode == http.StatusOK {
		if rest, items, ok := decodeResponse(body.Bytes()); ok {
			*wanted, res.Body = response{items, true}, complete{bytes.NewBuffer(rest)}
		}
	}
	return p.ClientProtocol.DeserializeResponse(ctx, schema, types, res, out)
}
