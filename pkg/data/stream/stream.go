package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc/pkg/base/panics"
	"svc/pkg/data/table"
)

// Change is what the records of a batch say about one item.
type Change struct {
	Key   table.Key
	Old   table.Item // the item before the batch; not Found if the first record created the item
	New   table.Item // newest image; not Found if the item was removed
	Last  table.Item // as New; but if the item was removed, its last image
	First string     // sequence number of the item's first record in the batch
}

// Type returns the type of New or, if the item was removed, of Last.
func (c Change) Type() string {
	if c.New.Found() {
		return c.New.Type
	}
	return cmp.Or(c.Last.Type, c.Old.Type)
}

// Changes groups the event's records by item, in order of first appearance.
// Change.New is the image with the highest version. If versions are equal, it is the
// image of the later record. A removal has the version of the removed image.
func Changes(event events.DynamoDBEvent) []Change {
	var out []Change
	at, newest := map[table.Key]int{}, map[table.Key]int64{}
	for _, record := range event.Records {
		older, newer := decode(record.Change.OldImage), decode(record.Change.NewImage)
		key, ok := keyOf(older, newer)
		if !ok {
			continue
		}
		last := newer
		if !newer.Found() {
			last = older
		}
		version := last.Version
		i, seen := at[key]
		if !seen {
			at[key], newest[key] = len(out), version
			out = append(out, Change{key, older, newer, last, record.Change.SequenceNumber})
			continue
		}
		if version >= newest[key] {
			out[i].New, out[i].Last, newest[key] = newer, last, version
		}
		if older.Found() && out[i].Old.Found() && older.Version < out[i].Old.Version {
			out[i].Old = older
		}
	}
	return out
}

// KeyOf returns the key of a record's item; ok is false if the record has none.
func KeyOf(record events.DynamoDBEventRecord) (key table.Key, ok bool) {
	pk, sk := record.Change.Keys["pk"], record.Change.Keys["sk"]
	if pk.DataType() == events.DataTypeString && sk.DataType() == events.DataTypeString {
		return table.Key{PK: pk.String(), SK: sk.String()}, true
	}
	return keyOf(decode(record.Change.OldImage), decode(record.Change.NewImage))
}

// keyOf returns the key in a record's images; the second result is false if it is missing.
func keyOf(older, newer table.Item) (table.Key, bool) {
	key := newer.Key
	if !newer.Found() {
		key = older.Key
	}
	return key, key.PK != "" && key.SK != "" && (newer.Found() || older.Found())
}

// TenantOf returns the handle of the tenant that owns the key; ok is false for
// platform data.
func TenantOf(db *table.DB, key table.Key) (t table.Tenant, ok bool) {
	rest, ok := strings.CutPrefix(key.PK, "T#")
	id, _, cut := strings.Cut(rest, "#")
	return db.Tenant(id), ok && cut && id != ""
}

// Failure is a change that a function could not process.
type Failure struct {
	Change
	Err error
}

// GiveUp stores the records of one item as a dead letter.
type GiveUp func(ctx context.Context, records []events.DynamoDBEventRecord, cause error) error

// BadData wraps err in table.ErrData, which says that an item's data causes the error, so
// that a retry fails again. It returns nil for nil.
func BadData(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", table.ErrData, err)
}

// Answer returns the function's response when the given changes failed. Lambda
// sends the batch again, from the lowest First in the response. A change that
// fails with table.ErrData would fail again and delay its shard, so giveUp stores
// its records, and the response omits it. giveUp gets only changes before the first
// failure that a retry may cure. Lambda sends all later changes again, so a later call
// of Answer would store them a second time. A nil giveUp stores nothing.
func Answer(ctx context.Context, event events.DynamoDBEvent, failed []Failure,
	giveUp GiveUp) events.DynamoDBEventResponse {
	out := events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{}}
	slices.SortStableFunc(failed, func(a, b Failure) int {
		switch {
		case Later(a.First, b.First):
			return 1
		case Later(b.First, a.First):
			return -1
		case errors.Is(b.Err, table.ErrData) && !errors.Is(a.Err, table.ErrData):
			return -1
		case errors.Is(a.Err, table.ErrData) && !errors.Is(b.Err, table.ErrData):
			return 1
		}
		return 0
	})
	for i, f := range failed {
		if slices.ContainsFunc(failed[:i], func(e Failure) bool { return e.First == f.First }) {
			continue // one failure is enough for a record: the one that a retry may cure, which sorts first
		}
		if giveUp != nil && len(out.BatchItemFailures) == 0 && errors.Is(f.Err, table.ErrData) {
			err := giveUp(ctx, recordsOf(event, f.Key), f.Err)
			if err == nil {
				slog.ErrorContext(ctx, "stream record given up", "partition", f.Key.PK, "item", f.Key.SK, "sequence", f.First)
				continue
			}
			slog.ErrorContext(ctx, "storing a dead letter", "sequence", f.First, "error", err.Error())
		}
		out.BatchItemFailures = append(out.BatchItemFailures, events.DynamoDBBatchItemFailure{ItemIdentifier: f.First})
	}
	return out
}

// recordsOf returns the event's records of the item with the key.
func recordsOf(event events.DynamoDBEvent, key table.Key) (out []events.DynamoDBEventRecord) {
	for _, r := range event.Records {
		if k, ok := KeyOf(r); ok && k == key {
			out = append(out, r)
		}
	}
	return out
}

// Each runs step for every group of changes, up to workers groups at a time. If
// step fails for a group, Each runs it again for each change of the group
// alone, so that one bad item does not fail the others. Each returns the
// changes that failed alone, in their order. A panic in step is a failure that the
// data causes: the same change would panic again.
func Each(ctx context.Context, groups [][]Change, workers int, step func(context.Context, []Change) error) []Failure {
	failed := make([][]Failure, len(groups))
	var wait sync.WaitGroup
	slots := make(chan struct{}, max(workers, 1))
	for i, group := range groups {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			failed[i] = try(ctx, group, step)
		})
	}
	wait.Wait()
	return slices.Concat(failed...)
}

// try runs step for the group and, if it fails, for each change of the group alone.
func try(ctx context.Context, group []Change, step func(context.Context, []Change) error) (failed []Failure) {
	err := panics.Try(func() error { return step(ctx, group) })
	if panics.Panicked(err) {
		err = BadData(err)
	}
	switch {
	case err == nil:
		return nil
	case len(group) == 1:
		return []Failure{failure(ctx, group[0], err)}
	}
	for i := range group {
		failed = append(failed, try(ctx, group[i:i+1], step)...)
	}
	return failed
}

// failure logs that a change failed, and returns the Failure.
func failure(ctx context.Context, c Change, err error) Failure {
	slog.ErrorContext(ctx, "stream record failed", "partition", c.Key.PK, "item", c.Key.SK, "type", c.Type(), "sequence",
		c.First, "error", err.Error())
	return Failure{c, err}
}

// Process passes a batch to all readers at the same time. A reader processes the changes
// of a batch and returns those that failed, and Process returns them all. If a reader
// panics, Process calls it again with the records of each item alone, so that only the
// items that make it panic fail.
func Process(ctx context.Context, event events.DynamoDBEvent,
	readers ...func(context.Context, events.DynamoDBEvent) []Failure) []Failure {
	failed := make([][]Failure, len(readers))
	var wait sync.WaitGroup
	for i, read := range readers {
		wait.Go(func() {
			err := panics.Try(func() error { failed[i] = read(ctx, event); return nil })
			if err == nil {
				return
			}
			for _, c := range Changes(event) {
				alone := events.DynamoDBEvent{Records: recordsOf(event, c.Key)}
				err := panics.Try(func() error { failed[i] = append(failed[i], read(ctx, alone)...); return nil })
				if err != nil {
					failed[i] = append(failed[i], failure(ctx, c, BadData(err)))
				}
			}
		})
	}
	wait.Wait()
	return slices.Concat(failed...)
}

// decode reads an image. It returns the zero Item for an absent image, and for
// an image that it cannot read.
func decode(image map[string]events.DynamoDBAttributeValue) (it table.Item) {
	if len(image) == 0 {
		return table.Item{}
	}
	defer func() {
		if recover() != nil { // the accessors of the events package panic on an unexpected type
			it = table.Item{}
		}
	}()
	raw := make(map[string]types.AttributeValue, len(image))
	for name, value := range image {
		raw[name] = attribute(value)
	}
	return table.Decoded(raw)
}

// attribute converts an attribute from Lambda's form to the SDK's.
func attribute(v events.DynamoDBAttributeValue) types.AttributeValue {
	switch v.DataType() {
	case events.DataTypeString:
		return &types.AttributeValueMemberS{Value: v.String()}
	case events.DataTypeNumber:
		return &types.AttributeValueMemberN{Value: v.Number()}
	case events.DataTypeBoolean:
		return &types.AttributeValueMemberBOOL{Value: v.Boolean()}
	case events.DataTypeStringSet:
		return &types.AttributeValueMemberSS{Value: v.StringSet()}
	case events.DataTypeNumberSet:
		return &types.AttributeValueMemberNS{Value: v.NumberSet()}
	case events.DataTypeBinary:
		return &types.AttributeValueMemberB{Value: v.Binary()}
	case events.DataTypeBinarySet:
		return &types.AttributeValueMemberBS{Value: v.BinarySet()}
	case events.DataTypeList:
		list := make([]types.AttributeValue, len(v.List()))
		for i, element := range v.List() {
			list[i] = attribute(element)
		}
		return &types.AttributeValueMemberL{Value: list}
	case events.DataTypeMap:
		m := make(map[string]types.AttributeValue, len(v.Map()))
		for name, element := range v.Map() {
			m[name] = attribute(element)
		}
		return &types.AttributeValueMemberM{Value: m}
	}
	return &types.AttributeValueMemberNULL{Value: true}
}
