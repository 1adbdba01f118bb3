package erasure

import (
	"context"
	"strings"

	"svc/pkg/access/authz"
	"svc/pkg/data/table"
	"svc/pkg/domain/delivery"
	"svc/pkg/domain/payment"
	"svc/pkg/domain/privacy"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// person is the rider or driver whose data a request erases or exports.
type person struct {
	db       *table.DB
	files    Files
	t        table.Tenant
	audience authz.Audience
	id       string
	at       string     // when the person is erased
	item     table.Item // the person's record
	email    string
	created  string
	erasedAt string   // "" for a person who is not erased
	methods  []string // identifiers of the person's payment methods
}

func (p person) rider() bool { return p.audience == authz.Rider }

// person reads the person whom a request is about. After a restore the person's record
// may be missing; then item is not Found.
func (r Runner) person(ctx context.Context, t table.Tenant, rec privacy.Record) (person, error) {
	p := person{db: r.DB, files: r.Files, t: t, audience: rec.Audience(), id: rec.Subject(), at: rec.UpdatedAt}
	var err error
	if p.item, err = t.Get(ctx, authz.ActorKey(t, p.audience, p.id)); err != nil || !p.item.Found() {
		return p, err
	}
	var doc struct {
		Email     string  `json:"email"`
		CreatedAt string  `json:"createdAt"`
		ErasedAt  *string `json:"erasedAt"`
	}
	if err := p.item.Decode(&doc); err != nil {
		return p, err
	}
	if p.email, p.created = doc.Email, doc.CreatedAt; doc.ErasedAt != nil {
		p.erasedAt = *doc.ErasedAt
	}
	if !p.rider() {
		return p, nil
	}
	page, err := t.Query(ctx, payment.Key(t, p.id, "").PK, table.Query{Prefix: "CARD#", Limit: table.Examined})
	for _, it := range page.Items {
		p.methods = append(p.methods, strings.TrimPrefix(it.SK, "CARD#"))
	}
	return p, err
}

// trips returns the partition with the person's trips, and its index.
func (p person) trips() (string, int) { return trip.Own(p.t, p.audience, p.id) }

// reasons returns why the person cannot be erased now.
func (p person) reasons(ctx context.Context) ([]privacy.PrivacyReason, error) {
	out := []privacy.PrivacyReason{}
	add := func(code, message string) { out = append(out, privacy.PrivacyReason{Code: code, Message: message}) }
	partition, index := p.trips()
	open, err := p.any(ctx, partition, index, func(it table.Item) bool {
		status := trip.Status(it.Text("status"))
		return status != trip.Completed && status != trip.Cancelled
	})
	if open {
		add(privacy.OpenTrip, "The person has a trip that is not over. Complete or cancel it.")
	}
	if err == nil && p.rider() {
		partition, index = delivery.OrdersOf(p.t, p.id)
		open, err = p.any(ctx, partition, index, func(it table.Item) bool {
			return it.Text("status") != "DELIVERED" && it.Text("status") != "CANCELLED"
		})
		if open {
			add(privacy.OpenOrder, "The person has an order that is not over. Deliver or cancel it.")
		}
	}
	if err != nil {
		return out, err
	}
	side := wallet.Driver
	if p.rider() {
		side = wallet.Customer
	}
	it, err := p.t.Get(ctx, wallet.Key(p.t, side, p.id))
	if err == nil && it.Number("held") != "0" {
		add(privacy.Withdrawal, "The driver has asked for a withdrawal. Pay or refuse it.")
	}
	if err == nil && it.Number("balance") != "0" {
		add(privacy.Balance, "The person's wallet is not at zero. Settle it with a posting.")
	}
	return out, err
}

// any reports whether has returns true for an item of the index's partition.
func (p person) any(ctx context.Context, partition string, index int, has func(table.Item) bool) (bool, error) {
	for items, err := range p.t.Pages(ctx, partition, table.Query{Index: index, Limit: 500, Backward: true}) {
		if err != nil {
			return false, err
		}
		for _, it := range items {
			if has(it) {
				return true, nil
			}
		}
	}
	return false, nil
}

// eraseItem erases one item of a source. If the item has changed meanwhile, it is
// read again.
func (p person) eraseItem(ctx context.Context, s source, it table.Item) error {
	first, h := true, s.handle(p)
	return table.Retry(ctx, func(ctx context.Context) error {
		var err error
		if !first {
			if it, err = h.Get(ctx, it.Key); err != nil || !it.Found() {
				return err
			}
		}
		first = false
		tx := h.Write()
		if s.erase == nil {
			tx.Delete(it.Key)
			return tx.Commit(ctx)
		}
		if err := s.erase(ctx, p, tx, it); err != nil {
			return err
		}
		return tx.Commit(ctx)
	})
}
