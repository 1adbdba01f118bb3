package projection

import (
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
)

// Forget returns the COUNTED item of a person who is erased: the counters stay the
// same, but it has no name and no search words. sets are the sets of search rows that
// the person had until now; the projection writes none of them again. If there is
// nothing to forget, next has no document.
func Forget(stored table.Item, now string) (next table.Item, sets []customer.RowSet, err error) {
	c, err := countedOf(stored)
	if err != nil || !stored.Found() {
		return table.Item{}, nil, err
	}
	words := customer.Record{}.Words()
	sets = c.Ended
	if c.Rows != nil {
		sets = append(sets, *c.Rows)
		if len(c.Rows.Words) == len(words) && len(c.Ended) == 0 && c.Name == "" {
			return table.Item{}, sets, nil
		}
		c.Rows = &customer.RowSet{Words: words, N: c.Rows.N + 1, Since: now}
	} else if c.Name == "" {
		return table.Item{}, sets, nil
	}
	c.Ended, c.Pending, c.Name = nil, false, ""
	return table.Item{Key: stored.Key, Type: "counted", Version: stored.Version, Doc: c, Preserve: stored.Unknown()}, sets,
		nil
}

// Sets returns how many sets of search rows a person has had, from the person's COUNTED
// item.
func Sets(stored table.Item) (int, error) {
	c, err := countedOf(stored)
	if err != nil || c.Rows == nil {
		return 0, err
	}
	return c.Rows.N, nil
}
