package feedback

import (
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/data/table"
)

// Quotas of one operator, and of all operators of one tenant. All tenants share
// the roadmap: without quotas, one tenant could fill it.
var (
	postBytes    = quota{person: 1 << 20, tenant: 4 << 20} // bytes of memory (folded) per day
	postComments = quota{person: 200, tenant: 400}         // comments per post
)

type quota struct{ person, tenant int }

// spend charges n to the quotas of the operator and the tenant. If one of them
// would be exceeded, the transaction fails with the error spent. One item
// counts both.
func (q quota) spend(tx *table.Tx, s Store, key table.Key, n int, expires time.Time, spent error) {
	c := table.Change{Default: map[string]any{"type": "quota", "v": 1}, Add: map[string]any{"all": n, s.Person: n}}
	if !expires.IsZero() {
		c.Expires = expires.Unix()
	}
	tx.Update(key, c).If("attribute_not_exists('all') OR 'all' <= ?", q.tenant-n).
		If("attribute_not_exists('"+s.Person+"') OR '"+s.Person+"' <= ?", q.person-n).Else(spent)
}

// spendBytes charges the memory of a new post's folded texts to the quotas of
// the UTC day. If one would be exceeded, the transaction fails with a 429.
func (s Store) spendBytes(tx *table.Tx, bytes int) {
	day := s.Now.UTC().Truncate(24 * time.Hour)
	key := platform.Key(day.Format(time.DateOnly), "POSTS", "quota", s.Tenant.ID())
	spent := fault.RateLimited(day.Add(24 * time.Hour).Sub(s.Now))
	postBytes.spend(tx, s, key, bytes, day.Add(48*time.Hour), spent)
}

// spendComment charges a comment to the quotas of the post. If one would be
// exceeded, the transaction fails with a 409.
func (s Store) spendComment(tx *table.Tx, post string) {
	key := platform.Key("QUOTA#"+s.Tenant.ID(), "POST", post)
	postComments.spend(tx, s, key, 1, time.Time{}, fault.InvalidState(
		"A post takes at most %d comments of one person and %d of one company.", postComments.person, postComments.tenant))
}
