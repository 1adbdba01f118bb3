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

// Retention says for how many days a tenant keeps personal data that no rule requires it
// to delete. 0 means without an end.
type Retention struct {
	Addresses int `json:"addresses,omitempty"` // addresses of trips and orders
	Positions int `json:"positions,omitempty"` // exact positions of trips and of drivers
	Logs      int `json:"logs,omitempty"`      // what people wrote about trips: notes, reasons and comments
	Audit     int `json:"audit,omitempty"`     // entries of the audit log
}

// Keep is the value, in commands, for data that is kept without an end.
const Keep = "keep"

// longestRetention is the largest number of days of a retention. A tenant that needs more
// keeps the data without an end.
const longestRetention = 3650

// Retained is a kind of data whose retention a tenant can set.
type Retained struct {
	Kind  string
	Least int                     // the smallest number of days that is allowed
	Days  func(r *Retention) *int // returns the member of r for this kind
}

// RetainedKinds returns the kinds of data whose retention a tenant can set. Addresses and
// logs are kept for a week at least, because a lost item or a complaint needs them. The
// audit log is kept for a quarter of a year at least, because it is evidence.
func RetainedKinds() []Retained {
	return []Retained{
		{"addresses", 7, func(r *Retention) *int { return &r.Addresses }},
		{"positions", 1, func(r *Retention) *int { return &r.Positions }},
		{"logs", 7, func(r *Retention) *int { return &r.Logs }},
		{"audit", 90, func(r *Retention) *int { return &r.Audit }},
	}
}

// Set changes the retention of one kind of data. text is KIND=DAYS or KIND=keep.
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
	*all[i].Days(r) = n // n is 0 for keep
	return nil
}

// Show returns the retention of a kind of data as text: "7 days", or "keep".
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

// allows reports whether the retention may be that many days.
func (k Retained) allows(days int) bool { return days >= k.Least && days <= longestRetention }

// rule returns the text for an error that says which values are allowed.
func (k Retained) rule() string {
	return fmt.Sprintf("%d to %d days, or %s", k.Least, longestRetention, Keep)
}

// check adds what is wrong with the retention to wrong.
func (r Retention) check(wrong *fault.Faults) {
	for _, k := range RetainedKinds() {
		n := *k.Days(&r)
		wrong.Unless(n == 0 || k.allows(n), "retain."+k.Kind, "expected %s", k.rule())
	}
}

// RetentionBook is the name of the list of due tasks (due.Book) that apply a tenant's
// retention.
const RetentionBook = "privacy"

// RetentionTask is the kind of the tasks in RetentionBook.
const RetentionTask = "retain"

// Afresh is the id of a retention task that examines every trip again, because old trips
// were imported.
const Afresh = "afresh"

// ApplyRetention adds to the transaction a task that applies the tenant's retention at
// the given time. id is the task's id.
func ApplyRetention(tx *table.Tx, db *table.DB, t table.Tenant, at time.Time, id string) {
	due.Book{DB: db, Name: RetentionBook, Now: func() time.Time { return at }}.
		Add(tx, due.Task{Tenant: t.ID(), Kind: RetentionTask, ID: id, At: at})
}

// NextRetention returns when a tenant's retention is applied next. That is once a day, at
// a minute that depends on the tenant, so that the load is spread.
func NextRetention(t table.Tenant, now time.Time) time.Time {
	const day = 24 * time.Hour
	at := now.UTC().Truncate(day).Add(time.Duration(ids.Pick(t.ID(), int(day/time.Minute))) * time.Minute)
	if !at.After(now) {
		at = at.Add(day)
	}
	return at
}
