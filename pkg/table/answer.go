package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// The SDK decodes an item into a map of pointers: some sixty allocations each.
// The items of a query and of a batch get are therefore taken out of the answer
// before the SDK sees it, and read by reader; the SDK decodes the rest
// (capacity, counts, keys to go on with), all errors, and any answer that
// reader does not understand.

type answerKey struct{}

// answer gets the items of one request.
type answer struct {
	items []Item
	read  bool // they were read; else the SDK has them
}

// wanting asks for the items of the request that is sent under the context.
func wanting(ctx context.Context) (context.Context, *answer) {
	a := &answer{}
	return context.WithValue(ctx, answerKey{}, a), a
}

// or gives the items, of what the SDK decoded where it did.
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

// takeItems stands between the SDK's deserializer and its check of the
// answer's checksum.
var takeItems = middleware.DeserializeMiddlewareFunc("TakeItems", func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
	middleware.DeserializeOutput, middleware.Metadata, error) {
	out, meta, err := next.HandleDeserialize(ctx, in)
	wanted, ok := ctx.Value(answerKey{}).(*answer)
	if err != nil || !ok {
		return out, meta, err
	}
	*wanted = answer{} // of an earlier attempt
	res, ok := out.RawResponse.(*smithyhttp.Response)
	if !ok || res.StatusCode != http.StatusOK {
		return out, meta, nil
	}
	body, err := readWhole(res)
	if err != nil {
		return out, meta, &smithy.DeserializationError{Err: fmt.Errorf("answer of the table: %w", err)}
	}
	if rest, items, ok := readAnswer(body); ok {
		wanted.items, wanted.read, body = items, true, rest
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return out, meta, nil
})

// readWhole reads and closes a body, which is when its checksum is compared.
func readWhole(res *smithyhttp.Response) ([]byte, error) {
	var buf bytes.Buffer
	if n := res.ContentLength; n > 0 && n < 32<<20 { // an answer has at most 16 MB
		buf.Grow(int(n) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(res.Body)
	return buf.Bytes(), errors.Join(err, res.Body.Close())
}
