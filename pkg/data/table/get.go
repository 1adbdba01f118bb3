package table

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc/pkg/base/panics"
)

// Get reads the item with the key, strongly consistent. If the item is absent, Get
// returns an Item that has only its Key.
func (h Handle) Get(ctx context.Context, key Key) (Item, error) {
	sent, got := wanting(ctx)
	out, err := h.db.client.GetItem(h.within(sent), &dynamodb.GetItemInput{TableName: &h.db.name, Key: key.encode(),
		ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
	if err != nil {
		return Item{}, readError("get", err)
	}
	switch {
	case got.decoded && len(got.items) == 1:
		return got.items[0], nil
	case out.Item != nil:
		return Decoded(out.Item), nil
	}
	return Item{Key: key}, nil
}

// batchSize is the maximum number of keys of a batch get. batchRounds is the maximum
// number of requests for one batch: another one is sent if the table leaves keys
// unprocessed.
const batchSize, batchRounds = 100, 5

// Batch reads up to 100 different items, strongly consistent, in one request. It
// returns them in the order of keys. For an absent item it returns an Item that
// has only its Key. It reads a repeated key once. If the table leaves keys
// unprocessed, Batch sends up to four more requests, and then returns
// fault.Unavailable. Without keys it sends no request.
func (h Handle) Batch(ctx context.Context, keys ...Key) ([]Item, error) {
	return h.batchGet(ctx, true, nil, keys)
}

// BatchAll is Batch for any number of keys. It sends at most eight requests at once.
func (h Handle) BatchAll(ctx context.Context, keys ...Key) ([]Item, error) {
	found := make([]Item, len(keys))
	group, ctx := panics.WithContext(ctx)
	group.SetLimit(8)
	for from := 0; from < len(keys); from += batchSize {
		group.Go(func() error {
			items, err := h.Batch(ctx, keys[from:min(from+batchSize, len(keys))]...)
			copy(found[from:], items)
			return err
		})
	}
	return found, group.Wait()
}

// BatchEventual is Batch with eventually consistent reads, which use half the
// read units.
func (h Handle) BatchEventual(ctx context.Context, keys ...Key) ([]Item, error) {
	return h.batchGet(ctx, false, nil, keys)
}

// BatchOf is Batch, but reads only the given attributes of the items, and their keys. So
// a function's IAM role needs no permission to read the other attributes.
func (h Handle) BatchOf(ctx context.Context, attributes []string, keys ...Key) ([]Item, error) {
	return h.batchGet(ctx, true, attributes, keys)
}

// projection returns the ProjectionExpression, with its names, that reads only the key
// and the given attributes. It returns nil if attributes is nil, which means all.
func projection(attributes []string) (expression *string, names map[string]string) {
	if attributes == nil {
		return nil, nil
	}
	terms, names := []string{"pk", "sk"}, map[string]string{}
	for i, name := range attributes {
		term := fmt.Sprint("#", i)
		terms, names[term] = append(terms, term), name
	}
	return aws.String(strings.Join(terms, ",")), names
}

// batchGet implements Batch, BatchEventual and BatchOf. If attributes is nil, it reads all
// attributes.
func (h Handle) batchGet(ctx context.Context, consistent bool, attributes []string, keys []Key) ([]Item, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	items := make([]Item, len(keys))
	asked := make([]map[string]types.AttributeValue, 0, len(keys))
	for i, key := range keys {
		if items[i].Key = key; !slices.Contains(keys[:i], key) {
			asked = append(asked, key.encode())
		}
	}
	if len(asked) > batchSize {
		return nil, fmt.Errorf("batch get of %d keys, expected at most %d", len(asked), batchSize)
	}
	only, called := projection(attributes)
	for range batchRounds {
		sent, got := wanting(ctx)
		out, err := h.db.client.BatchGetItem(h.within(sent), &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{h.db.name: {Keys: asked,
				ConsistentRead: aws.Bool(consistent), ProjectionExpression: only, ExpressionAttributeNames: called}},
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		if err != nil {
			return nil, readError("batch get", err)
		}
		for _, it := range got.or(out.Responses[h.db.name]) {
			for i, key := range keys { // at most batchSize keys
				if key == it.Key {
					items[i] = it
				}
			}
		}
		asked = out.UnprocessedKeys[h.db.name].Keys
		if len(asked) == 0 {
			return items, nil
		}
	}
	return nil, unprocessed("batch get", len(asked))
}

// encode returns the key in the SDK's form.
func (k Key) encode() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": str(k.PK), "sk": str(k.SK)}
}

// BatchGet collects the keys of one batch read, and for each key the variable that
// receives its item. The zero BatchGet is empty.
type BatchGet struct {
	handle Handle
	keys   []Key
	into   []*Item
}

// Add adds a key to the batch read. h must permit the key, and into receives its item. If
// the item is absent, into receives an Item that has only its Key.
func (r *BatchGet) Add(h Handle, key Key, into *Item) {
	r.handle = Join(r.handle, h)
	r.keys, r.into = append(r.keys, key), append(r.into, into)
}

// Do reads the items with Handle.Batch. After an error it sets no variable.
func (r *BatchGet) Do(ctx context.Context) error {
	items, err := r.handle.Batch(ctx, r.keys...)
	for n, it := range items {
		*r.into[n] = it
	}
	return err
}
