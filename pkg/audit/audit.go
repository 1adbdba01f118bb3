package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"svc/pkg/ids"
	"svc/pkg/table"
	"svc/pkg/timestamp"
)

// By says who makes a change and when.
type By struct {
	Who string    // an actor's id, or "svc:" and the name of the command line's user
	At  time.Time // the change's time
}

// Entry is one entry of the log.
type Entry struct {
	ID      string          `json:"id"`
	At      string          `json:"at"`
	Who     string          `json:"who"`
	What    string          `json:"what"`    // the change, as in "tenant.set" or "member.revoke"
	Subject string          `json:"subject"` // id of what was changed
	Before  json.RawMessage `json:"before"`  // null for what was not there before
	After   json.RawMessage `json:"after"`   // null for what is there no more
}

// Append adds an entry to the tenant's log in the caller's transaction. Before
// and after are marshalled by encoding/json and must hold no secret; nil is
// null.
func Append(tx *table.Tx, t table.Tenant, by By, what, subject string, before, after any) {
	at, id := timestamp.Format(by.At), ids.New(ids.Audit, by.At)
	tx.Create(table.Item{Key: t.Key(at+"#"+id, "AUDIT"), Type: "audit", Doc: document{
		ID: id, At: at, Who: by.Who, What: what, Subject: subject, Before: before, After: after}})
}

type document struct {
	ID      string `json:"id"`
	At      string `json:"at"`
	Who     string `json:"who"`
	What    string `json:"what"`
	Subject string `json:"subject"`
	Before  any    `json:"before"`
	After   any    `json:"after"`
}

// List gives up to limit entries (1…1000), newest first, after the position
// that the last page ended at ("" for the first); next is "" at the end.
//
// Access pattern: T#t#AUDIT backward, strongly consistent.
func List(ctx context.Context, t table.Tenant, after string, limit int) (entries []Entry, next string, err error) {
	page, err := t.Query(ctx, t.Key("", "AUDIT").PK, table.Query{Backward: true, After: after, Limit: limit, Consistent: true})
	if err != nil {
		return nil, "", fmt.Errorf("audit log: %w", err)
	}
	entries = make([]Entry, 0, len(page.Items))
	for _, it := range page.Items {
		var e Entry
		if err := it.Decode(&e); err != nil {
			return nil, "", err
		}
		entries = append(entries, e)
	}
	if page.More {
		next = page.Last
	}
	return entries, next, nil
}
