package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
)

// By says who makes a change, when, and with which client and tool.
type By struct {
	Who    string    // an actor's id; or "svc:" and the user of a command ("svc" if unknown), or "svc:demo"
	At     time.Time // the change's time
	Client string    // the OAuth client that acted for the actor; "" if none did, as for a command
	Tool   string    // the tool that an agent called; "" for any other change
}

// Entry is one entry of the log.
type Entry struct {
	ID      string          `json:"id"`
	At      string          `json:"at"`
	Who     string          `json:"who"`
	Client  string          `json:"client,omitempty"`
	Tool    string          `json:"tool,omitempty"`
	What    string          `json:"what"`    // the change, as in "tenant.set" or "member.revoke"
	Subject string          `json:"subject"` // id of what was changed
	Before  json.RawMessage `json:"before"`  // null for a creation
	After   json.RawMessage `json:"after"`   // null for a removal
}

// The declaration of the items that hold entries (table.Kind).
var _ = table.Kind[any]{Type: "audit", Personal: "values before and after a change",
	Erasure: "removes the values; who, what and when stay"}

// Append adds an entry to the tenant's log in the caller's transaction. what names the
// change, as in "tenant.set", and subject is the id of what was changed. before and after
// are marshalled as JSON; nil becomes null. Neither may contain a secret.
func Append(tx *table.Tx, t table.Tenant, by By, what, subject string, before, after any) {
	at, id := timestamp.Format(by.At), ids.New(ids.Audit, by.At)
	tx.Create(table.Item{Key: t.Key("AUDIT", at+"#"+id), Type: "audit", Doc: document{
		ID: id, At: at, Who: by.Who, Client: by.Client, Tool: by.Tool, What: what, Subject: subject,
		Before: before, After: after}})
}

// document is an Entry before it is written, when Before and After are still Go values.
type document struct {
	ID      string `json:"id"`
	At      string `json:"at"`
	Who     string `json:"who"`
	Client  string `json:"client,omitempty"`
	Tool    string `json:"tool,omitempty"`
	What    string `json:"what"`
	Subject string `json:"subject"`
	Before  any    `json:"before"`
	After   any    `json:"after"`
}

// List returns up to limit entries (1…1000), newest first. For the first page,
// after is "". For each later page, it is next of the previous page. next is ""
// on the last page.
//
// Access pattern: T#t#AUDIT backward, strongly consistent.
func List(ctx context.Context, t table.Tenant, after string, limit int) (entries []Entry, next string, err error) {
	page, err := t.Query(ctx, t.Key("AUDIT", "").PK, table.Query{Backward: true, After: after, Limit: limit,
		Consistent: true})
	if err != nil {
		return nil, "", fmt.Errorf("audit log: %w", err)
	}
	if page.More {
		next = page.Last
	}
	entries, err = table.DecodeAll(page.Items, table.DecodeDoc[Entry])
	return entries, next, err
}
