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
)

// Tx is one conditional transaction: all of its operations hold or none does.
// Its client request token stays the same however often the SDK sends it, so an
// outcome that was unknown is never applied twice.
type Tx struct {
	h   Handle
	ops []*Op
	err error
}

// Op is one operation of a transaction: one of the four, none when it could
// not be made.
type Op struct {
	put       *dynamo.Put
	update    *dynamo.Update
	remove    *dynamo.Delete
	check     *dynamo.ConditionCheck
	otherwise error
}

// usualOps is how many operations most transactions have at most.
const usualOps = 4

// Write begins a transaction on the handle's keys.
func (h Handle) Write() *Tx { return &Tx{h: h, ops: make([]*Op, 0, usualOps)} }

// Len is the number of operations; a transaction takes at most a hundred.
func (tx *Tx) Len() int { return len(tx.ops) }

// Covers widens the transaction to another handle's keys.
func (tx *Tx) Covers(h Handle) *Tx {
	tx.h = Join(tx.h, h)
	return tx
}

// Put writes the whole item, whatever was there. Conditions follow with If.
func (tx *Tx) Put(it Item) *Op {
	raw, err := it.encode()
	if err != nil {
		tx.err = errors.Join(tx.err, err)
		return tx.op(&Op{})
	}
	return tx.op(&Op{put: tx.h.db.dynamo.Put(raw)})
}

// Create writes the item on the condition that none has its key.
func (tx *Tx) Create(it Item) *Op { return tx.Put(it).If("attribute_not_exists(pk)") }

// Replace writes the item with its Version grown by one, on the condition that
// the stored one still has the Version it was read with.
func (tx *Tx) Replace(it Item) *Op {
	was := it.Version
	it.Version++
	return tx.Put(it).If("'version' = ?", was)
}

// Change is what an update does to attributes; keys and index partitions
// cannot be among them.
type Change struct {
	Set     map[string]any // as Item.Attrs
	Add     map[string]any // numbers to add, strings ([]string) to put into a set
	Remove  []string
	Expires int64 // sets expiresAt, Unix seconds; 0 leaves it
}

// Update changes attributes in place. An item that is not there is made of
// them unless a condition forbids it.
func (tx *Tx) Update(key Key, c Change) *Op {
	u := tx.h.db.dynamo.Update("pk", key.PK).Range("sk", key.SK)
	for _, name := range slices.Sorted(maps.Keys(c.Set)) {
		encoded, err := attribute(c.Set[name], &texts{})
		tx.err = errors.Join(tx.err, err)
		if encoded == nil {
			u.Remove("'" + name + "'")
			continue
		}
		u.SetExpr("$ = ?", name, encoded)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Add)) {
		encoded, err := attribute(c.Add[name], &texts{})
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

// Delete removes the item, which need not be there.
func (tx *Tx) Delete(key Key) *Op {
	return tx.op(&Op{remove: tx.h.db.dynamo.Delete("pk", key.PK).Range("sk", key.SK)})
}

// Check writes nothing and asks that a condition (If) holds for the item.
func (tx *Tx) Check(key Key) *Op {
	return tx.op(&Op{check: tx.h.db.dynamo.Check("pk", key.PK).Range("sk", key.SK)})
}

func (tx *Tx) op(op *Op) *Op {
	tx.ops = append(tx.ops, op)
	return op
}

// If adds a condition, joined to the others by AND: an expression of DynamoDB
// in which ” quotes an attribute's name and ? stands for a value (string, int,
// int64, bool): If("'status' = ?", "ONLINE").
func (op *Op) If(expression string, args ...any) *Op {
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

// Else names the error that Commit gives when this operation's condition does
// not hold.
func (op *Op) Else(err error) *Op {
	op.otherwise = err
	return op
}

// Commit sends the transaction. A failed condition is the error named by the
// first failed operation's Else, else ErrCondition; a conflict with another
// transaction is ErrConflict, after which nothing was written; a throttled
// table is fault.Unavailable.
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
	err := classify("transaction", w.ConsumedCapacity(&used).Run(tx.h.within(ctx)))
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

const loadSize = 25

// Load writes items without conditions, 25 a request, for filling a table. It
// takes what the table left unprocessed again a bounded number of times.
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
