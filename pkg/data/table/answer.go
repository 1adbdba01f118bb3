package table

import (
	"context"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"svc/pkg/data/wire"
)

// The SDK decodes an item into a map of pointers, with about sixty allocations
// for each item. To avoid this, reader extracts the items of a get, a batch get
// or a query. If the SDK sent the request, reader does so before the SDK
// decodes the response. The SDK then decodes the rest: capacity, counts, keys
// to continue with, and all errors. The SDK also decodes any response that
// reader does not understand.

type answerKey struct{}

// answer receives the items of one request.
type answer struct {
	items []Item
	read  bool // reader decoded the items; if false, the SDK did
}

// wanting returns a context and the answer that receives the items of the
// request sent with that context.
func wanting(ctx context.Context) (context.Context, *answer) {
	a := &answer{}
	return context.WithValue(ctx, answerKey{}, a), a
}

// or returns the items. If reader did not decode them, it converts those that
// the SDK decoded.
func (a *answer) or(decoded []map[string]types.AttributeValue) []Item {
	if a.read {
		return a.items
	}
	items := make([]Item, len(decoded))
	for i, raw := range decoded {
		items[i] = Decoded(raw)
	}
	return items
}

// takeItems runs before the SDK's deserializer sees a response.
var takeItems = middleware.DeserializeMiddlewareFunc("TakeItems",
	func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
		middleware.DeserializeOutput, middleware.Metadata, error) {
		out, meta, err := next.HandleDeserialize(ctx, in)
		wanted, ok := ctx.Value(answerKey{}).(*answer)
		if err != nil || !ok {
			return out, meta, err
		}
		*wanted = answer{} // drop the items of an earlier attempt
		res, ok := out.RawResponse.(*smithyhttp.Response)
		if !ok || res.StatusCode != http.StatusOK {
			return out, meta, nil
		}
		body, err := wire.ReadBody(res.Body, res.ContentLength)
		if err != nil {
			return out, meta, &smithy.DeserializationError{Err: fmt.Errorf("response of the table: %w", err)}
		}
		if rest, items, ok := readAnswer(body); ok {
			wanted.items, wanted.read, body = items, true, rest
		}
		res.Body = wire.Body(body)
		return out, meta, nil
	})
