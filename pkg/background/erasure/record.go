package erasure

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"svc/pkg/access/login"
	"svc/pkg/background/projection"
	"svc/pkg/base/codec"
	"svc/pkg/base/ids"
	"svc/pkg/base/phone"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/trip"
)

// eraseRecord replaces the person's record by one that says when the person was erased.
// It also removes the sign-in row and the rows by which a search finds the person.
func eraseRecord(ctx context.Context, p person, tx *table.Tx, it table.Item) error {
	counted, err := p.t.Get(ctx, projection.CountedKey(it.Key))
	if err != nil {
		return err
	}
	next, sets, err := projection.Forget(counted, p.at)
	if err != nil {
		return err
	}
	if err := p.unfind(ctx, sets); err != nil { // rows first, because the stored item lists them
		return err
	}
	if counted.Found() && next.Doc != nil {
		tx.Replace(next).Else(table.ErrConflict)
	}
	var doc struct {
		ErasedAt *string `json:"erasedAt"`
		Email    string  `json:"email"`
	}
	if err := it.Decode(&doc); err != nil {
		return err
	}
	erased, at := driver.Erased, p.at
	if p.rider() {
		erased = customer.Erased
	}
	if doc.ErasedAt != nil {
		at = *doc.ErasedAt
	}
	record, err := erased(p.t, it, at)
	if err != nil {
		return err
	}
	if doc.ErasedAt != nil {
		return p.eraseLeft(tx, it, record)
	}
	tx.Replace(record).Else(table.ErrConflict)
	if err := p.unlead(ctx, json.RawMessage(it.Raw())); err != nil {
		return err
	}
	if doc.Email == "" {
		return nil
	}
	tx.Delete(login.Key(p.t, p.audience, doc.Email)).If("attribute_not_exists(pk) OR 'actor' = ?", p.id).
		Else(table.ErrConflict)
	return nil
}

// eraseLeft removes what is left in the record of a person who was erased before: fields
// that an older build did not know and kept, and ratings that came after the erasure.
func (p person) eraseLeft(tx *table.Tx, it, record table.Item) error {
	doc, err := codec.Marshal(record.Doc)
	if err == nil && (string(doc) != it.Raw() || it.Has("ratingSum") || it.Has("ratingCount")) {
		tx.Replace(record).Else(table.ErrConflict)
	}
	return err
}

// unfind deletes the search rows of the sets. A set has the search rows for one version
// of a rider's search words.
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

// readAudit reads the entries of the audit log that concern the person: those that name
// the person or a payment method, and those about a trip of the person.
//
// Access pattern: T#t#AUDIT from the time at which the account was created, and one batch
// with the trips of each page. No index finds the entries of one person, because one would
// double the cost of each entry, and persons are rarely erased.
func readAudit(ctx context.Context, p person, after string, limit int) (table.Page, error) {
	page, err := p.t.Query(ctx, p.t.Partition("AUDIT"), table.Query{From: p.created, After: after, Limit: limit,
		Consistent: true})
	if err != nil {
		return page, err
	}
	about := append([]string{p.id}, p.methods...)
	entries, err := table.DecodeAll(page.Items, table.DecodeDoc[audit.Entry])
	if err != nil {
		return page, err
	}
	var keys []table.Key
	for _, e := range entries {
		if key := trip.Key(p.t, e.Subject); ids.Valid(ids.Trip, e.Subject) && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	trips, err := p.t.BatchAll(ctx, keys...)
	for _, it := range trips {
		if it.Text("customerId") == p.id || it.Text("driverId") == p.id {
			about = append(about, it.PK[strings.LastIndexByte(it.PK, '#')+1:])
		}
	}
	page.Items = slices.DeleteFunc(page.Items, func(it table.Item) bool {
		return !ofUnknownRider(it) &&
			!slices.ContainsFunc(about, func(id string) bool { return strings.Contains(it.Raw(), `"`+id+`"`) })
	})
	return page, err
}

// ofUnknownRider reports whether an audit entry of an older build is about a payment
// method without naming the rider. The values of such an entry are erased with the next
// rider or driver of the tenant.
func ofUnknownRider(it table.Item) bool {
	return strings.Contains(it.Raw(), `"what":"payment.`) && !strings.Contains(it.Raw(), `"`+ids.Customer+`_`)
}

// auditKept has the fields of an audit entry's values that an erasure keeps. The key is
// the first word of the entry's field what, such as "trip". The kept fields hold
// identifiers, statuses and amounts. For all other words the whole value is erased.
var auditKept = map[string][]string{
	"trip":    {"tripCode", "status", "customerId", "driverId", "finalFare", "version"},
	"privacy": {"of"},
}

// eraseAudit removes the values of an audit entry that concerns the person. Who changed
// what, and when, stays. A rider's entry shows earlier names, so the search rows under
// these names are deleted too.
func eraseAudit(ctx context.Context, p person, tx *table.Tx, it table.Item) error {
	doc, err := table.DecodeDoc[document](it)
	if err != nil {
		return err
	}
	what, _, _ := strings.Cut(strings.Trim(string(doc["what"]), `"`), ".")
	changed := false
	for _, name := range []string{"before", "after"} {
		value := doc[name]
		if len(value) == 0 || string(value) == "null" || string(value) == gone {
			continue
		}
		if what == "customer" || what == "driver" {
			if err := p.unlead(ctx, value); err != nil {
				return err
			}
		}
		if what == "customer" {
			if err := p.unfindOlder(ctx, value); err != nil {
				return err
			}
		}
		if kept, ok := auditKept[what]; ok {
			cut, err := keepOnly(doc, name, kept)
			if changed = changed || cut; err != nil {
				return err
			}
			continue
		}
		doc[name], changed = json.RawMessage(gone), true
	}
	if changed {
		put(tx, it, doc)
	}
	return nil
}

// keepOnly removes from the object doc[name] every member that kept does not list. If
// doc[name] is not an object, gone replaces it.
func keepOnly(doc document, name string, kept []string) (changed bool, err error) {
	var inner document
	if json.Unmarshal(doc[name], &inner) != nil {
		doc[name] = json.RawMessage(gone)
		return true, nil
	}
	for member := range inner {
		if !slices.Contains(kept, member) {
			delete(inner, member)
			changed = true
		}
	}
	if changed {
		doc[name], err = json.Marshal(inner)
	}
	return changed, err
}

// gone replaces values of the audit log that were erased.
const gone = `{"erased":true}`

// unfindOlder deletes the search rows under the names in shown, the record in an audit
// entry. No item names the rows of an earlier set, but they stay stored for a while.
func (p person) unfindOlder(ctx context.Context, shown json.RawMessage) error {
	var r customer.Record
	if json.Unmarshal(shown, &r) != nil || r.ID != p.id {
		return nil // the entry has another form, without the names
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

// unlead deletes the rows under which an import or a booking finds the person. Their keys
// have the external identifier and the phone number in record.
func (p person) unlead(ctx context.Context, record json.RawMessage) error {
	var r struct {
		ID         string        `json:"id"`
		ExternalID string        `json:"externalId"`
		Phone      *string       `json:"phone"`
		Number     *phone.Number `json:"number"`
	}
	if json.Unmarshal(record, &r) != nil || r.ID != p.id {
		return nil // the record has another form
	}
	number := ""
	if r.Number.Of(r.Phone) {
		number = r.Number.E164
	} else if r.Phone != nil { // a driver's phone is stored with its country code
		number, _ = phone.International(*r.Phone)
	}
	if p.rider() && number != "" {
		if err := customer.Forget(ctx, p.t, p.id, number); err != nil {
			return err
		}
	}
	return imports.Forget(ctx, p.t, p.audience, p.id, r.ExternalID, number)
}

// mostSets is how many sets of search rows before the current one may still be stored.
const mostSets = 20
