package feedback

import (
	"strings"
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/data/table"
)

// The quotas of feedback. All tenants share one list of posts, the roadmap. Without
// quotas, one tenant could fill it.
var (
	postBytes    = quota{person: 1 << 20, tenant: 4 << 20}     // bytes of new posts' folded texts in memory, per UTC day
	postComments = quota{person: 200, tenant: 400}             // comments per post
	commentTexts = quota{person: 256 << 10, tenant: 512 << 10} // bytes of comment texts per post
)

// quota is the maximum for one operator, and for all operators of one tenant together.
type quota struct{ person, tenant int }

// charge is the amount n that counts against a quota. suffix ends the names of the
// attributes that hold the quota's sums, so one item can hold the sums of several quotas.
type charge struct {
	quota
	n      int
	suffix string
}

// spend counts the charges against the quotas of the operator and of the tenant, in the
// transaction. If a quota would be exceeded, the transaction fails with the error spent. The
// item at key holds all sums, and expires at expires unless that is zero. The attribute
// "all" plus the suffix holds the tenant's sum. The attribute that is named by the operator's
// id plus the suffix holds the operator's sum.
func (s Store) spend(tx *table.Tx, key table.Key, expires time.Time, spent error, charges ...charge) {
	c := table.Change{Default: map[string]any{"type": "quota", "v": 1}, Add: map[string]any{}}
	if !expires.IsZero() {
		c.Expires = expires.Unix()
	}
	for _, one := range charges {
		c.Add["all"+one.suffix], c.Add[s.Person+one.suffix] = one.n, one.n
	}
	var conditions []string
	var most []any
	within := func(sum string, n int) {
		conditions = append(conditions, "(attribute_not_exists('"+sum+"') OR '"+sum+"' <= ?)")
		most = append(most, n)
	}
	for _, one := range charges {
		within("all"+one.suffix, one.tenant-one.n)
		within(s.Person+one.suffix, one.person-one.n)
	}
	tx.Update(key, c).If(strings.Join(conditions, " AND "), most...).Else(spent)
}

// spendBytes charges a new post's size in memory (folded) to the quotas of the UTC day. If
// one would be exceeded, the transaction fails with a 429.
func (s Store) spendBytes(tx *table.Tx, bytes int) {
	day := s.Now.UTC().Truncate(24 * time.Hour)
	key := platform.Key("POSTS", "quota", s.Tenant.ID(), day.Format(time.DateOnly))
	spent := fault.RateLimited(day.Add(24 * time.Hour).Sub(s.Now))
	s.spend(tx, key, day.Add(48*time.Hour), spent, charge{quota: postBytes, n: bytes})
}

// spendComment charges a comment with the text body to the quotas of the post. If one
// would be exceeded, the transaction fails with a 409.
func (s Store) spendComment(tx *table.Tx, post, body string) {
	key := platform.Key("POST", post, "QUOTA#"+s.Tenant.ID())
	s.spend(tx, key, time.Time{}, fault.InvalidState(
		"A post accepts at most %d comments of one person and %d of one company, with at most %d KB and %d KB of text.",
		postComments.person, postComments.tenant, commentTexts.person>>10, commentTexts.tenant>>10),
		charge{quota: postComments, n: 1}, charge{quota: commentTexts, n: len(body), suffix: "#bytes"})
}
