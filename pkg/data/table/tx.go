package table

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/guregu/dynamo/v2"

	"svc/pkg/base/money"
)

// Tx is one conditional transaction: all of its operations succeed or none
// does. Every retry by the SDK sends the same client request token, so the
// transaction is never applied twice.
type Tx struct {
	h   Handle
	ops []*Op
	err error
}

// Op is one operation of a transaction. Exactly one of put, update, remove and
// check is set, or none if the operation could not be built. otherwise is the error of Else.
type Op struct {
	put       *dynamo.Put
	update    *dynamo.Update
	remove    *dynamo.Delete
	check     *dynamo.ConditionCheck
	otherwise error
}

// Write begins a transaction on the handle's keys.
func (h Handle) Write() *Tx { return &Tx{h: h} }

// Len returns the number of operations; a transaction allows at most 100.
func (tx *Tx) Len() int { return len(tx.ops) }

// Covers permits the transaction to use also the keys of another handle.
func (tx *Tx) Covers(h Handle) *Tx {
	tx.h = Join(tx.h, h)
	return tx
}

// Put writes the item and overwrites any stored one. Use Op.If to add
// conditions.
func (tx *Tx) Put(it Item) *Op {
	raw, err := it.encode()
	if err != nil {
		tx.err = errors.Join(tx.err, err)
		return tx.op(&Op{})
	}
	return tx.op(&Op{put: tx.h.db.dynamo.Put(raw)})
}

// Create writes the item on the condition that its key is unused.
func (tx *Tx) Create(it Item) *Op { return tx.Put(it).If("attribute_not_exists(pk)") }

// Replace writes the item and increments its Version, on the condition that
// the stored Version is the one that was read. The condition fails for an item
// that was stored without a Version.
func (tx *Tx) Replace(it Item) *Op {
	was := it.Version
	it.Version++
	return tx.Put(it).If("'version' = ?", was)
}

// Change is a set of attribute updates. It must not include keys or index
// partitions.
type Change struct {
	Set     map[string]any // attributes to set, as in Item.Attrs; nil or an empty set removes the attribute
	Add     map[string]any // numbers to add, strings ([]string) to add to a set
	Default map[string]any // set only if the attribute is absent; nil is not allowed
	Remove  []string       // attributes to remove
	Expires int64          // sets expiresAt, Unix seconds; 0 leaves it unchanged
}

// Update changes some attributes of the item at key. It creates a missing item, unless a
// condition (Op.If) forbids that.
func (tx *Tx) Update(key Key, c Change) *Op {
	u := tx.h.db.dynamo.Update("pk", key.PK).Range("sk", key.SK)
	for _, name := range slices.Sorted(maps.Keys(c.Set)) {
		encoded, err := attribute(c.Set[name])
		tx.err = errors.Join(tx.err, err)
		if encoded == nil {
			u.Remove("'" + name + "'")
			continue
		}
		u.SetExpr("$ = ?", name, encoded)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Default)) {
		encoded, err := attribute(c.Default[name])
		tx.err = errors.Join(tx.err, err)
		u.SetExpr("$ = if_not_exists($, ?)", name, name, encoded)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Add)) {
		encoded, err := attribute(c.Add[name])
		tx.err = errors.Join(tx.err, err)
		if encoded != nil {
			u.Add("'"+name+"'", encoded)
		}
	}
	for _, name := range c.Remove {
		u.Remove("'" + name + "'")
	}
	if c.Expires != 0 {
		u.Set("expiresAt", c.Expires)
	}
	return tx.op(&Op{update: u})
}

// Delete removes the item with the key, which may be absent.
func (tx *Tx) Delete(key Key) *Op {
	return tx.op(&Op{remove: tx.h.db.dynamo.Delete("pk", key.PK).Range("sk", key.SK)})
}

// Check requires that a condition (Op.If) holds for the item with the key. It writes nothing.
func (tx *Tx) Check(key Key) *Op {
	return tx.op(&Op{check: tx.h.db.dynamo.Check("pk", key.PK).Range("sk", key.SK)})
}

// op appends an operation, to which the caller may add conditions.
func (tx *Tx) op(op *Op) *Op {
	tx.ops = append(tx.ops, op)
	return op
}

// If adds a condition. All conditions of an operation must hold. The condition
// is a DynamoDB expression. Quote attribute names with single quotes; write ?
// for a value (string, int, int64, bool, money.Amount): If("'status' = ?", "ONLINE").
func (op *Op) If(expression string, args ...any) *Op {
	for i, arg := range args {
		if n, ok := arg.(money.Amount); ok {
			args[i] = num(string(n))
		}
	}
	switch {
	case op.put != nil:
		op.put.If(expression, args...)
	case op.update != nil:
		op.update.If(expression, args...)
	case op.remove != nil:
		op.remove.If(expression, args...)
	case op.check != nil:
		op.check.If(expression, args...)
	}
	return op
}

// add adds the operation to guregu/dynamo's transaction.
func (op *Op) add(w *dynamo.WriteTx) {
	switch {
	case op.put != nil:
		w.Put(op.put)
	case op.update != nil:
		w.Update(op.update)
	case op.remove != nil:
		w.Delete(op.remove)
	case op.check != nil:
		w.Check(op.check)
	}
}

// Else sets the error that Commit returns if this operation's condition fails.
func (op *Op) Else(err error) *Op {
	op.otherwise = err
	return op
}

// Commit sends the transaction, unless it is empty. If conditions fail, it
// returns the first error that Else set on a failed operation, or ErrCondition
// if there is none. If another write touched the same item, the error is
// ErrConflict. If the table is throttled or cannot be reached, the error is
// fault.Unavailable. With each of these errors, nothing was written. If the
// result is not known, the error is fault.OutcomeUnknown or, if the caller
// disconnected, the context's error.
func (tx *Tx) Commit(ctx context.Context) error {
	if tx.err != nil {
		return fmt.Errorf("transaction: %w", tx.err)
	}
	if len(tx.ops) == 0 {
		return nil
	}
	w := tx.h.db.tx.WriteTx().IdempotentWithToken(rand.Text())
	for _, op := range tx.ops {
		op.add(w)
	}
	var used dynamo.ConsumedCapacity
	var known outcome
	ctx = context.WithValue(tx.h.within(ctx), outcomeKey{}, &known)
	err := writing("transaction", w.ConsumedCapacity(&used).Run(ctx), &known)
	var failed *conditions
	if errors.As(err, &failed) {
		for _, i := range failed.failed {
			if i < len(tx.ops) && tx.ops[i].otherwise != nil {
				return tx.ops[i].otherwise
			}
		}
	}
	return err
}

// PutIf writes one item outside of a transaction, on a condition in the form of
// Op.If. It costs half of what a transaction costs. If the condition fails, the error
// is ErrCondition. It may also fail because PutIf itself has stored the item: the SDK
// may send a request again after it was executed. Other errors are those of Tx.Commit.
func (h Handle) PutIf(ctx context.Context, it Item, expression string, args ...any) error {
	raw, err := it.encode()
	if err != nil {
		return err
	}
	var known outcome
	ctx = context.WithValue(h.within(ctx), outcomeKey{}, &known)
	var used dynamo.ConsumedCapacity
	return writing("put", h.db.dynamo.Put(raw).If(expression, args...).ConsumedCapacity(&used).Run(ctx), &known)
}

// loadSize is the maximum number of writes of a BatchWriteItem.
const loadSize = 25

// Load writes items without conditions, 25 per request, for filling a table.
// It sends unprocessed items up to four more times, and then returns
// fault.Unavailable. An error may come after items were written.
func (h Handle) Load(ctx context.Context, items ...Item) error {
	for chunk := range slices.Chunk(items, loadSize) {
		writes := make([]types.WriteRequest, len(chunk))
		for i, it := range chunk {
			raw, err := it.encode()
			if err != nil {
				return err
			}
			writes[i] = types.WriteRequest{PutRequest: &types.PutRequest{Item: raw}}
		}
		if err := h.batchWrite(ctx, writes); err != nil {
			return err
		}
	}
	return nil
}

// batchWrite sends writes in one BatchWriteItem. If the table leaves some unprocessed, it
// sends these again.
func (h Handle) batchWrite(ctx context.Context, writes []types.WriteRequest) error {
	for range batchRounds {
		out, err := h.db.client.BatchWriteItem(h.within(ctx), &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{h.db.name: writes}})
		if err != nil {
			return classify("batch write", err)
		}
		if writes = out.UnprocessedItems[h.db.name]; len(writes) == 0 {
			return nil
		}
	}
	return unprocessed("batch write", len(writes))
}
