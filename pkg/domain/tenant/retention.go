package tenant

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
)

// Retention is for how many days a tenant keeps personal data that it may keep for
// good. 0 means for good.
type Retention struct {
	Addresses int `json:"addresses,omitempty"` // of trips and orders
	Positions int `json:"positions,omitempty"` // exact ones: of trips and of drivers
	Logs      int `json:"logs,omitempty"`      // notes, reasons and comments of trips
	Audit     int `json:"audit,omitempty"`     // entries of the audit log
}

// Keep is the word for data that is kept for good.
const Keep = "keep"

// longestRetention is the largest number of days. Who needs more keeps for good.
const longestRetention = 3650

// Retained is a kind of data with a bound of its own.
type Retained struct {
	Kind  string
	Least int                     // the fewest days
	Days  func(r *Retention) *int // the setting
}

// RetainedKinds returns the kinds of data whose retention a tenant sets. Addresses
// and words are kept for a week at least, because a lost item or a complaint needs
// them. The audit log is kept for a quarter, because it is evidence.
func RetainedKinds() []Retained {
	return []Retained{
		{"addresses", 7, func(r *Retention) *int { return &r.Addresses }},
		{"positions", 1, func(r *Retention) *int { return &r.Positions }},
		{"logs", 7, func(r *Retention) *int { return &r.Logs }},
		{"audit", 90, func(r *Retention) *int { return &r.Audit }},
	}
}

// Set changes one kind: KIND=DAYS, or KIND=keep.
func (r *Retention) Set(text string) error {
	kind, days, _ := strings.Cut(text, "=")
	all := RetainedKinds()
	i := slices.IndexFunc(all, func(k Retained) bool { return k.Kind == kind })
	if i < 0 {
		names := make([]string, len(all))
		for i, k := range all {
			names[i] = k.Kind
		}
		return fmt.Errorf("%q: expected KIND=DAYS or KIND=%s; the kinds are %s", text, Keep, strings.Join(names, ", "))
	}
	n, err := strconv.Atoi(days)
	if days != Keep && (err != nil || !all[i].allows(n)) {
		return fmt.Errorf("%q: expected %s", text, all[i].rule())
	}
	*all[i].Days(r) = n // 0 for keep
	return nil
}

// Show returns the setting of a kind for people.
func (r Retention) Show(k Retained) string {
	switch n := *k.Days(&r); n {
	case 0:
		return Keep
	case 1:
		return "1 day"
	default:
		return strconv.Itoa(n) + " days"
	}
}

func (k Retained) allows(days int) bool { return days >= k.Least && days <= longestRetention }

func (k Retained) rule() string {
	return fmt.Sprintf("%d to %d days, or %s", k.Least, longestRetention, Keep)
}

func (r Retention) check(wrong *fault.Faults) {
	for _, k := range RetainedKinds() {
		n := *k.Days(&r)
		wrong.Unless(n == 0 || k.allows(n), "retain."+k.Kind, "expected %s", k.rule())
	}
}

// RetentionBook is the book of due tasks with the times at which a tenant's retention
// is applied.
const RetentionBook = "privacy"

// RetentionTask is the kind of these tasks.
const RetentionTask = "retain"

// Afresh is the identifier of a task that looks at every trip again, because some
// were imported.
const Afresh = "afresh"

// ApplyRetention adds to the transaction a task that applies the tenant's retention
// at a time.
func ApplyRetention(tx *table.Tx, db *table.DB, t table.Tenant, at time.Time, id string) {
	due.Book{DB: db, Name: RetentionBook, Now: func() time.Time { return at }}.
		Add(tx, due.Task{Tenant: t.ID(), Kind: RetentionTask, ID: id, At: at})
}

// NextRetention returns when a tenant's retention is applied next: once a day, at a
// minute of the tenant's own, so that tenants share the load.
func NextRetention(t table.Tenant, now time.Time) time.Time {
	const day = 24 * time.Hour
	at := now.UTC().Truncate(day).Add(time.Duration(ids.Pick(t.ID(), int(day/time.Minute))) * time.Minute)
	if !at.After(now) {
		at = at.Add(day)
	}
	return at
}
