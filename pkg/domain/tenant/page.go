package tenant

import (
	"context"
	"fmt"
	"strconv"

	"svc/pkg/data/table"
)

// EachShard calls do for each shard of the tenant's lists. After the last shard it reads
// the number of shards again, and continues with those that were added meanwhile. Writes
// use only shards that lists read. So when EachShard returns without an error, it has
// called do for every shard that had items when it last read the number.
func EachShard(ctx context.Context, t table.Tenant, do func(shard int) error) error {
	shards := 0
	for shard := range MaxShards {
		if shard == shards {
			var err error
			if shards, err = ReadShards(ctx, t); err != nil || shard >= shards {
				return err
			}
		}
		if err := do(shard); err != nil {
			return err
		}
	}
	return nil
}

// Page reads one page of a list that is spread over the tenant's shards, for
// reads outside a request. parts name the list's partitions without the shard.
// next is the position to continue after, "" at the end.
//
// Access pattern: the query's index, T#t#part#part#shard, shards merged.
func Page[T any](
	ctx context.Context, t table.Tenant, q table.Query, fromItem func(table.Item) (T, error), parts ...string,
) (out []T, next string, err error) {
	shards, err := ReadShards(ctx, t)
	if err != nil {
		return nil, "", err
	}
	partitions := make([]string, shards)
	for i := range partitions {
		partitions[i] = t.Partition(append(parts[:len(parts):len(parts)], strconv.Itoa(i))...)
	}
	page, err := t.Merge(ctx, partitions, q)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", parts[0], err)
	}
	if page.More {
		next = page.Last
	}
	out, err = table.DecodeAll(page.Items, fromItem)
	return out, next, err
}
