package settlement

import (
	"context"
	"time"

	"github.com/shopspring/decimal"

	"svc/pkg/background/reconcile"
	"svc/pkg/data/table"
	"svc/pkg/domain/wallet"
)

// recent is the age up to which a check of growing data reads items at each look. Few
// items come with a time that is longer ago than that.
const recent = 6 * time.Hour

// tally is what some items add up to: their number, and for postings the sum, and the
// time of the newest.
type tally struct {
	n    int64
	sum  decimal.Decimal
	last string
}

func (a *tally) add(posting table.Item) error {
	var p wallet.Posting
	if err := posting.Decode(&p); err != nil {
		return err
	}
	a.n, a.sum, a.last = a.n+1, a.sum.Add(p.Amount.Decimal()), max(a.last, p.CreatedAt)
	return nil
}

// books adds up what is listed by time and only grows. It adds up the old items once and
// the recent ones at each look. So a look is short, and a check ends beside changes, also
// where a million items are old.
type books struct {
	read  func(ctx context.Context, from, to string) (tally, error)
	first string // the least key
	bound string // the key from which on items are recent
	old   tally
}

// whole reports whether a look reads all items, the old ones included.
func whole(look int) bool { return look%reconcile.Patience == 0 }

// look adds up all items.
func (b *books) look(ctx context.Context, look int) (tally, error) {
	if whole(look) {
		return b.read(ctx, b.first, "")
	}
	if whole(look - 1) { // more may be old than before
		if _, err := b.settled(ctx); err != nil {
			return tally{}, err
		}
	}
	all, err := b.read(ctx, b.bound, "")
	return tally{all.n + b.old.n, all.sum.Add(b.old.sum), max(all.last, b.old.last)}, err
}

// settled adds up the old items again. It reports whether they are as they were. If so,
// they were so between the two times as well, because items only become more.
func (b *books) settled(ctx context.Context) (bool, error) {
	was := b.old
	old, err := b.read(ctx, b.first, b.bound)
	if err != nil {
		return false, err
	}
	b.old = old
	return old.n == was.n && old.sum.Equal(was.sum), nil
}
