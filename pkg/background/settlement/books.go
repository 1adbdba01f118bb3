package settlement

import (
	"context"
	"time"

	"github.com/shopspring/decimal"

	"svc/pkg/background/reconcile"
	"svc/pkg/data/table"
	"svc/pkg/domain/wallet"
)

// recent is the age up to which items are read again at each look of a check. An item
// rarely arrives with a time that is longer ago.
const recent = 6 * time.Hour

// tally has the number of some items. For postings it also has their sum and the time of
// the newest.
type tally struct {
	n    int64
	sum  decimal.Decimal
	last string
}

// add adds a posting to the tally.
func (a *tally) add(posting table.Item) error {
	var p wallet.Posting
	if err := posting.Decode(&p); err != nil {
		return err
	}
	a.n, a.sum, a.last = a.n+1, a.sum.Add(p.Amount.Decimal()), max(a.last, p.CreatedAt)
	return nil
}

// books adds up a list that is sorted by time and only grows. It adds up the old items
// once and the recent ones at each look. So a look takes little time even with a million
// old items, and a check can end although items are added meanwhile.
type books struct {
	read  func(ctx context.Context, from, to string) (tally, error)
	first string // the smallest key
	bound string // items with this key or a greater one are recent
	old   tally  // of the items below bound
}

// whole reports whether the look with this number reads all items, the old ones included.
func whole(look int) bool { return look%reconcile.Patience == 0 }

// look returns the tally of all items. The parameter look is the number of the look; some
// looks read the old items again (whole).
func (b *books) look(ctx context.Context, look int) (tally, error) {
	if whole(look) {
		return b.read(ctx, b.first, "")
	}
	if whole(look - 1) { // old items may have been added since b.old was read
		if _, err := b.settled(ctx); err != nil {
			return tally{}, err
		}
	}
	all, err := b.read(ctx, b.bound, "")
	return tally{all.n + b.old.n, all.sum.Add(b.old.sum), max(all.last, b.old.last)}, err
}

// settled adds up the old items again, and reports whether they are as before. If so,
// they did not change in between either, because items are only added.
func (b *books) settled(ctx context.Context) (bool, error) {
	was := b.old
	old, err := b.read(ctx, b.first, b.bound)
	if err != nil {
		return false, err
	}
	b.old = old
	return old.n == was.n && old.sum.Equal(was.sum), nil
}
