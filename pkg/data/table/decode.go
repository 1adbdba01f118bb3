package table

import "svc/pkg/base/fault"

// DecodeDoc decodes the document of an item. It returns fault.NotFound if
// there is no item.
func DecodeDoc[T any](it Item) (T, error) {
	var doc T
	if !it.Found() {
		return doc, fault.NotFound()
	}
	err := it.Decode(&doc)
	return doc, err
}

// DecodeAll decodes the items one by one, in order.
func DecodeAll[T any](items []Item, fromItem func(Item) (T, error)) ([]T, error) {
	out := make([]T, len(items))
	for i, it := range items {
		var err error
		if out[i], err = fromItem(it); err != nil {
			return nil, err
		}
	}
	return out, nil
}
