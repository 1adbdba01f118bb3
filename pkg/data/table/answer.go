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
// for each item. To avoid this, reader extracts the items of a get, a batch get
// or a query before the SDK decodes the response. The SDK then decodes the rest:
// capacity, counts, keys to continue with, and all errors. The SDK also decodes
// any response that reader does not understand.

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

// protocol is the SDK's JSON protocol with our decoder of items.
type protocol struct{ smithyhttp.ClientProtocol }

// DeserializeResponse takes the items out of a response before the SDK decodes
// it.
func (p protocol) DeserializeResponse(ctx context.Context, schema *smithy.OperationSchema, types *smithy.TypeRegistry,
	res *smithyhttp.Response, out smithy.Deserializable) error {
	wanted, wants := ctx.Value(answerKey{}).(*answer)
	if body, ok := res.Body.(complete); ok && wants && res.StatusCode == http.StatusOK {
		if rest, items, ok := readAnswer(body.Bytes()); ok {
			*wanted, res.Body = answer{items, true}, complete{bytes.NewBuffer(rest)}
		}
	}
	return p.ClientProtocol.DeserializeResponse(ctx, schema, types, res, out)
}
