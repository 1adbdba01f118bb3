package table

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
)

// handleKey is the context key of the handle that sends a request.
type handleKey struct{}

// within returns a context with the handle. The guard checks each request that
// is sent with this context against the handle.
func (h Handle) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, handleKey{}, h)
}

// guard returns an SDK middleware that checks every request before the SDK sends it. It
// rejects a request with a key outside the context's handle, and a request of a type that
// it does not know. It counts the permitted requests in the context's Meter.
func guard(table string) middleware.InitializeMiddleware {
	return middleware.InitializeMiddlewareFunc("GuardAndMeter", func(ctx context.Context, in middleware.InitializeInput,
		next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		h, _ := ctx.Value(handleKey{}).(Handle)
		if err := h.allows(table, in.Parameters); err != nil {
			return middleware.InitializeOutput{}, middleware.Metadata{}, fmt.Errorf("table guard: %w", err)
		}
		return metered(ctx, in, next)
	})
}

// allows returns an error unless the request is of a known type, names this table, and
// has only keys that the handle permits.
func (h Handle) allows(table string, params any) error {
	switch in := params.(type) {
	case *dynamodb.GetItemInput:
		return cmp.Or(named(table, in.TableName), h.key(in.Key))
	case *dynamodb.BatchGetItemInput:
		for name, keys := range in.RequestItems {
			if err := named(table, &name); err != nil {
				return err
			}
			for _, key := range keys.Keys {
				if err := h.key(key); err != nil {
					return err
				}
			}
		}
		return nil
	case *dynamodb.QueryInput:
		return cmp.Or(named(table, in.TableName), h.query(in))
	case *dynamodb.ScanInput:
		return cmp.Or(named(table, in.TableName), h.scan(in))
	case *dynamodb.PutItemInput:
		return cmp.Or(named(table, in.TableName), h.item(in.Item))
	case *dynamodb.DeleteItemInput:
		return cmp.Or(named(table, in.TableName), h.key(in.Key))
	case *dynamodb.TransactWriteItemsInput:
		for _, op := range in.TransactItems {
			if err := h.operation(table, op); err != nil {
				return err
			}
		}
		return nil
	case *dynamodb.BatchWriteItemInput:
		return h.batch(table, in)
	}
	return fmt.Errorf("a %T is not allowed", params)
}

// batch returns an error unless the handle permits all writes of a BatchWriteItem.
func (h Handle) batch(table string, in *dynamodb.BatchWriteItemInput) error {
	for name, writes := range in.RequestItems {
		if err := named(table, &name); err != nil {
			return err
		}
		for _, w := range writes {
			if (w.PutRequest != nil) == (w.DeleteRequest != nil) {
				return fmt.Errorf("a write of a batch must be one put or one delete")
			}
			if w.PutRequest != nil {
				if err := h.item(w.PutRequest.Item); err != nil {
					return err
				}
			}
			if w.DeleteRequest != nil {
				if err := h.key(w.DeleteRequest.Key); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// operation returns an error unless the handle permits one element of TransactItems, and
// the element has exactly one operation.
func (h Handle) operation(table string, op types.TransactWriteItem) error {
	n := 0
	for _, there := range []bool{op.Put != nil, op.Update != nil, op.Delete != nil, op.ConditionCheck != nil} {
		if there {
			n++
		}
	}
	if n != 1 {
		return fmt.Errorf("an element of TransactItems has %d operations, expected 1", n)
	}
	switch {
	case op.Put != nil:
		return cmp.Or(named(table, op.Put.TableName), h.item(op.Put.Item))
	case op.Update != nil:
		for _, name := range op.Update.ExpressionAttributeNames {
			if indexKeys[name] {
				return fmt.Errorf("an update must not touch %s", name)
			}
		}
		for name := range indexKeys {
			if op.Update.UpdateExpression != nil && mentions(*op.Update.UpdateExpression, name) {
				return fmt.Errorf("an update must not touch %s", name)
			}
		}
		return cmp.Or(named(table, op.Update.TableName), h.key(op.Update.Key))
	case op.Delete != nil:
		return cmp.Or(named(table, op.Delete.TableName), h.key(op.Delete.Key))
	}
	return cmp.Or(named(table, op.ConditionCheck.TableName), h.key(op.ConditionCheck.Key))
}

// indexKeys are the keys of the table and the partition keys of its indexes. No update
// may change them.
var indexKeys = map[string]bool{"pk": true, "sk": true, "g1": true, "g2": true, "g3": true, "g4": true}

// mentions reports whether an expression contains the name of the attribute itself, not
// as a placeholder such as #r.
func mentions(expression, name string) bool {
	words := strings.FieldsFunc(expression, func(r rune) bool {
		return r != '_' && r != '#' && r != ':' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	return slices.Contains(words, name)
}

// query returns an error unless the index and the key condition of a Query are of a known
// form, and the handle permits its partition.
func (h Handle) query(in *dynamodb.QueryInput) error {
	hash := "pk"
	if in.IndexName != nil {
		name, ok := strings.CutPrefix(*in.IndexName, "by-")
		if !ok || !indexKeys[name] || name == "pk" || name == "sk" {
			return fmt.Errorf("index %q is not known, expected by-g1 to by-g4", *in.IndexName)
		}
		hash = name
	}
	switch {
	case len(in.ExclusiveStartKey) > 0:
		return fmt.Errorf("an ExclusiveStartKey is not allowed")
	case in.KeyConditionExpression == nil || (*in.KeyConditionExpression != keyIs &&
		!strings.HasPrefix(*in.KeyConditionExpression, keyIs+" AND ")):
		return fmt.Errorf("the key condition of a query must begin with %q", keyIs)
	case in.ExpressionAttributeNames["#h"] != hash:
		return fmt.Errorf("a query must set #h to the key attribute %s", hash)
	}
	return h.partition(in.ExpressionAttributeValues[":h"])
}

// key returns an error unless the handle permits the key of an item.
func (h Handle) key(key map[string]types.AttributeValue) error { return h.partition(key["pk"]) }

// item returns an error unless the handle permits the item's partition keys in the table
// and in the indexes.
func (h Handle) item(item map[string]types.AttributeValue) error {
	for name := range indexKeys {
		if value, ok := item[name]; ok && name != "sk" {
			if err := h.partition(value); err != nil {
				return err
			}
		}
	}
	return h.partition(item["pk"])
}

// partition returns an error unless the handle permits the partition key.
func (h Handle) partition(value types.AttributeValue) error {
	s, ok := value.(*types.AttributeValueMemberS)
	if !ok || !h.covers(s.Value) {
		return fmt.Errorf("a key outside the handle")
	}
	return nil
}

// named returns an error unless a request is for this table. name is the table's name in
// the request.
func named(table string, name *string) error {
	if name == nil || *name != table {
		return fmt.Errorf("the request names another table")
	}
	return nil
}
