package erasure

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"svc/pkg/access/login"
	"svc/pkg/background/projection"
	"svc/pkg/base/phone"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/imports"
)

// eraseRecord replaces the person's record by one that says when the person was
// erased, removes the sign-in row and the rows by which a search finds the person.
func eraseRecord(ctx context.Context, p person, tx *table.Tx, it table.Item) error {
	counted, err := p.t.Get(ctx, projection.CountedKey(it.Key))
	if err != nil {
		return err
	}
	next, sets, err := projection.Forget(counted, p.at)
	if err != nil {
		return err
	}
	if err := p.unfind(ctx, sets); err != nil { // before the item that says which rows there are
		return err
	}
	if counted.Found() && next.Doc != nil {
		tx.Replace(next).Else(table.ErrConflict)
	}
	var doc struct {
		ErasedAt *string `json:"erasedAt"`
		Email    string  `json:"email"`
	}
	if err := it.Decode(&doc); err != nil || doc.ErasedAt != nil {
		return err
	}
	erased := driver.Erased
	if p.rider() {
		erased = customer.Erased
	}
	record, err := erased(p.t, it, p.at)
	if err != nil {
		return err
	}
	tx.Replace(record).Else(table.ErrConflict)
	if err := p.unlead(ctx, json.RawMessage(it.Raw())); err != nil {
		return err
	}
	if p.rider() {
		if err := customer.Forget(ctx, tx, p.t, it); err != nil {
			return err
		}
	}
	if doc.Email == "" {
		return nil
	}
	tx.Delete(login.Key(p.t, p.audience, doc.Email)).If("attribute_not_exists(pk) OR 'actor' = ?", p.id).
		Else(table.ErrConflict)
	return nil
}

// unfind deletes the search rows of sets.
func (p person) unfind(ctx context.Context, sets []customer.RowSet) error {
	for _, set := range sets {
		for chunk := range slices.Chunk(set.Rows(p.t, p.id), 100) {
			tx := p.t.Write()
			for _, row := range chunk {
				tx.Delete(row.Key)
			}
			if err := table.Retry(ctx, tx.Commit); err != nil {
				return err
			}
		}
	}
	return nil
}

// readAudit reads the entries of the audit log that concern the person.
//
// Access pattern: T#t#AUDIT from the time at which the account was created. No index
// finds the entries of one person, because one would double the cost of each entry,
// and persons are rarely erased.
func readAudit(ctx context.Context, p person, after string, limit int) (table.Page, error) {
	page, err := p.t.Query(ctx, p.t.Partition("AUDIT"), table.Query{From: p.created, After: after, Limit: limit,
		Consistent: true})
	if err != nil {
		return page, err
	}
	about := append([]string{p.id}, p.methods...)
	page.Items = slices.DeleteFunc(page.Items, func(it table.Item) bool {
		return !slices.ContainsFunc(about, func(id string) bool { return strings.Contains(it.Raw(), `"`+id+`"`) })
	})
	return page, nil
}

// eraseAudit removes the values of an entry that concerns the person. Who changed
// what, and when, stays. The entries of trips and of requests hold identifiers and
// statuses only. The names that an entry of a rider holds are those under which
// search rows may still be.
func eraseAudit(ctx context.Context, p person, tx *table.Tx, it table.Item) error {
	doc, err := table.DecodeDoc[document](it)
	if err != nil {
		return err
	}
	what := strings.Trim(string(doc["what"]), `"`)
	if strings.HasPrefix(what, "trip.") || strings.HasPrefix(what, "privacy.") {
		return nil
	}
	changed := false
	for _, name := range []string{"before", "after"} {
		value := doc[name]
		if len(value) == 0 || string(value) == "null" || string(value) == gone {
			continue
		}
		if strings.HasPrefix(what, "customer.") || strings.HasPrefix(what, "driver.") {
			if err := p.unlead(ctx, value); err != nil {
				return err
			}
		}
		if strings.HasPrefix(what, "customer.") {
			if err := p.unfindOlder(ctx, value); err != nil {
				return err
			}
		}
		doc[name], changed = json.RawMessage(gone), true
	}
	if changed {
		put(tx, it, doc)
	}
	return nil
}

// gone stands in place of values that were erased.
const gone = `{"erased":true}`

// unfindOlder deletes the search rows of a record as an audit entry shows it: those
// of a set that has ended are in no item, but are still stored for a while.
func (p person) unfindOlder(ctx context.Context, shown json.RawMessage) error {
	var r customer.Record
	if json.Unmarshal(shown, &r) != nil || r.ID != p.id {
		return nil // of another form, without the names
	}
	counted, err := p.t.Get(ctx, projection.CountedKey(p.item.Key))
	if err != nil {
		return err
	}
	last, err := projection.Sets(counted)
	if err != nil {
		return err
	}
	for n := max(1, last-mostSets); n <= last; n++ {
		if err := p.unfind(ctx, []customer.RowSet{{Words: r.Words(), N: n}}); err != nil {
			return err
		}
	}
	return nil
}

// unlead deletes the rows by which an import finds the person of a record.
func (p person) unlead(ctx context.Context, record json.RawMessage) error {
	var r struct {
		ID         string        `json:"id"`
		ExternalID string        `json:"externalId"`
		Phone      *string       `json:"phone"`
		Number     *phone.Number `json:"number"`
	}
	if json.Unmarshal(record, &r) != nil || r.ID != p.id {
		return nil // of another form
	}
	number := ""
	if r.Number.Of(r.Phone) {
		number = r.Number.E164
	} else if r.Phone != nil { // a driver's is stored with its country code
		number, _ = phone.International(*r.Phone)
	}
	return imports.Forget(ctx, p.t, p.audience, p.id, r.ExternalID, number)
}

// mostSets is how many sets of search rows may have ended so lately that their rows
// are still stored.
const mostSets = 20
