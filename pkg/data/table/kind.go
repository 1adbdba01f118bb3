package table

import (
	"context"
	"fmt"
	"strconv"

	"svc/pkg/base/ids"
)

// Kind declares a type of item, and how a value of type T becomes such an item:
//
//	var Kind = table.Kind[Vehicle]{Type: "vehicle", Personal: "nothing", Once: "vehicles are not edited",
//		Row: func(t table.Tenant, shard string, v Vehicle) table.Item {
//			return table.Item{Key: Key(t, v.ID), R: v.ID, G: [4]string{t.Partition("VEHICLES", shard)}}
//		}}
//
// Items that are made in another way have a declaration with T any and without Row. The
// first four members are literals, because docs/privacy.md and the tests of pkg/app read
// them from the source.
type Kind[T any] struct {
	Type     string // Item.Type
	Personal string // personal data of riders and drivers in the items, beyond identifiers; or "nothing"
	Erasure  string // what the erasure of the rider or driver does with these data; "" with "nothing"
	Once     string // why no put ever replaces such an item; "" if one may

	// Row returns the item of a value. It leaves Type empty, and Doc nil if the document is
	// the value itself: Kind.Item sets both. in is what the item's keys need beside the
	// value: the id of the value's owner, or its shard.
	Row func(t Tenant, in string, v T) Item
	// Read returns the value of an item. If Read is nil, DecodeDoc does that.
	Read func(Item) (T, error)
}

// Item returns the stored form of a new value. audit.Put gives it the version of the item
// that it replaces. in is as in Row.
func (k *Kind[T]) Item(t Tenant, in string, v T) Item {
	it := k.Row(t, in, v)
	if it.Type = k.Type; it.Doc == nil {
		it.Doc = v
	}
	return it
}

// Sharded returns the stored form of a new value in a shard that its id picks.
func (k *Kind[T]) Sharded(t Tenant, v T, id string, writeShards int) Item {
	return k.Item(t, strconv.Itoa(ids.Pick(id, writeShards)), v)
}

// FromItem returns the value of an item. It returns fault.NotFound if there is no item,
// unless Read has a value for that.
func (k *Kind[T]) FromItem(it Item) (T, error) {
	if k.Read != nil {
		return k.Read(it)
	}
	return DecodeDoc[T](it)
}

// Get returns the value at the key, which it reads with read, such as Handle.Get.
func (k *Kind[T]) Get(ctx context.Context, read func(context.Context, Key) (Item, error), key Key) (T, error) {
	it, err := read(ctx, key)
	if err != nil {
		var none T
		return none, fmt.Errorf("%s: %w", k.Type, err)
	}
	return k.FromItem(it)
}

// List reads the values of one page of a partition.
func (k *Kind[T]) List(ctx context.Context, h Handle, partition string, q Query) ([]T, error) {
	page, err := h.Query(ctx, partition, q)
	if err != nil {
		return nil, fmt.Errorf("list of items of type %s: %w", k.Type, err)
	}
	return DecodeAll(page.Items, k.FromItem)
}
