package table

import "context"

// Reads collects the keys of one batch read, and for each key the variable that
// receives its item. The zero Reads is empty.
type Reads struct {
	handle Handle
	keys   []Key
	into   []*Item
}

// Add adds the read of a key of the handle. If the item is absent, into
// receives an Item that has only its Key.
func (r *Reads) Add(h Handle, key Key, into *Item) {
	r.handle = Join(r.handle, h)
	r.keys, r.into = append(r.keys, key), append(r.into, into)
}

// Do reads the items with Handle.Batch. After an error it sets no variable.
func (r *Reads) Do(ctx context.Context) error {
	items, err := r.handle.Batch(ctx, r.keys...)
	for n, it := range items {
		*r.into[n] = it
	}
	return err
}
