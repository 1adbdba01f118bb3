package dev

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"svc/cmd/svc/cli"
	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/base/ids"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
	"svc/pkg/domain/branding"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/delivery"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/event"
	"svc/pkg/domain/export"
	"svc/pkg/domain/feedback"
	"svc/pkg/domain/fleet"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/privacy"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/wallet"
	"svc/pkg/domain/webhook"
)

// triggers has, by event type, a change that is no step of a ride. A change returns the id of what it changed.
var triggers = map[string]func(*trigger, context.Context) (string, error){
	"driver.created": func(g *trigger, ctx context.Context) (string, error) {
		d, err := g.newDriver(ctx)
		return d.ID, err
	},
	"driver.updated": func(g *trigger, ctx context.Context) (string, error) {
		return g.changeDriver(ctx, func(r *driver.Record) { r.LastName = "Driver " + time.Now().Format("150405.000") })
	},
	"driver.status_changed": func(g *trigger, ctx context.Context) (string, error) {
		return g.changeDriver(ctx, func(r *driver.Record) {
			if r.Status == driver.Online {
				r.Status = driver.Offline
			} else {
				r.Status = driver.Online
			}
		})
	},
	"driver.erased": func(g *trigger, ctx context.Context) (string, error) {
		d, err := g.addDriver(ctx, true) // a disabled driver gets no ride meanwhile
		return g.erased(ctx, err, authz.Driver, d.ID)
	},
	"customer.created": func(g *trigger, ctx context.Context) (string, error) {
		r, err := g.newRider(ctx)
		return r.ID, err
	},
	"customer.updated": func(g *trigger, ctx context.Context) (string, error) {
		r, err := g.newRider(ctx)
		if err == nil {
			_, err = customer.Store.Change(ctx, g.t, cli.By(), r.ID, func(r *customer.Record) error {
				r.LastName = "Renamed"
				return nil
			})
		}
		return r.ID, err
	},
	"customer.erased": func(g *trigger, ctx context.Context) (string, error) {
		r, err := g.addRider(ctx, true)
		return g.erased(ctx, err, authz.Rider, r.ID)
	},
	"document.created": func(g *trigger, ctx context.Context) (string, error) { return g.document(ctx, nil) },
	"document.updated": func(g *trigger, ctx context.Context) (string, error) {
		return g.document(ctx, func(d *fleet.DriverDocumentEdit) { d.ExpiresOn = new("2041-01-01") })
	},
	"document.status_changed": func(g *trigger, ctx context.Context) (string, error) {
		return g.document(ctx, func(d *fleet.DriverDocumentEdit) { d.State = new("APPROVED") })
	},
	"business.created": (*trigger).business,
	"business.updated": func(g *trigger, ctx context.Context) (string, error) {
		id, err := g.business(ctx)
		if err == nil {
			_, err = delivery.SetBusiness(ctx, g.t, cli.By(), id, func(b *delivery.Business) error {
				b.Active = false
				return nil
			})
		}
		return id, err
	},
	"menu_item.created": func(g *trigger, ctx context.Context) (string, error) { return g.menuItem(ctx, false) },
	"menu_item.updated": func(g *trigger, ctx context.Context) (string, error) { return g.menuItem(ctx, true) },
	"order.created":     (*trigger).order,
	"order.updated": func(g *trigger, ctx context.Context) (string, error) {
		d, err := g.aDriver(ctx)
		if err != nil {
			return "", err
		}
		return g.changeOrder(ctx, "", &d.ID)
	},
	"order.status_changed": func(g *trigger, ctx context.Context) (string, error) {
		return g.changeOrder(ctx, "ACCEPTED", nil)
	},
	"wallet.posted": func(g *trigger, ctx context.Context) (string, error) {
		d, err := g.aDriver(ctx)
		if err != nil {
			return "", err
		}
		return g.topUp(ctx, d.ID)
	},
	"withdrawal.requested": func(g *trigger, ctx context.Context) (string, error) { return g.withdrawal(ctx, "") },
	"withdrawal.paid": func(g *trigger, ctx context.Context) (string, error) {
		return g.withdrawal(ctx, wallet.Paid)
	},
	"withdrawal.refused": func(g *trigger, ctx context.Context) (string, error) {
		return g.withdrawal(ctx, wallet.Refused)
	},
	"withdrawal.cancelled": func(g *trigger, ctx context.Context) (string, error) {
		return g.withdrawal(ctx, wallet.Cancelled)
	},
	"branding.updated": (*trigger).brand,
	"settings.updated": func(g *trigger, ctx context.Context) (string, error) { // a service type that nobody sees
		s, err := settings.AddService(ctx, g.t, cli.By(), settings.Service{ServiceType: settings.ServiceType{
			Name: "svc trigger", Currency: g.flags.Text("currency"), BaseFare: "1", Capacity: 4}})
		return s.ID, err
	},
	"company.updated": (*trigger).rename,
	"member.created":  (*trigger).newMember,
	"member.updated": func(g *trigger, ctx context.Context) (string, error) {
		id, err := g.newMember(ctx)
		if err == nil {
			_, err = g.people().Grant(ctx, g.t, cli.By(), id, "VIEW_SETTINGS")
		}
		return id, err
	},
	"member.deleted": func(g *trigger, ctx context.Context) (string, error) {
		id, err := g.newMember(ctx)
		if err == nil {
			err = g.people().Leave(ctx, g.t, cli.By(), id)
		}
		return id, err
	},
	"privacy_request.created":        (*trigger).copyOf,
	"privacy_request.status_changed": (*trigger).copyOf,
	"feedback.created":               func(g *trigger, ctx context.Context) (string, error) { return g.post(ctx, nil) },
	"feedback.updated": func(g *trigger, ctx context.Context) (string, error) {
		return g.post(ctx, func(s feedback.Store, p feedback.Post) error {
			it, err := s.Platform.Get(ctx, feedback.Key(p.ID))
			if err == nil {
				_, err = s.Comment(ctx, it, "svc trigger")
			}
			return err
		})
	},
	"feedback.status_changed": func(g *trigger, ctx context.Context) (string, error) {
		return g.post(ctx, func(_ feedback.Store, p feedback.Post) error {
			_, err := feedback.ChangeStatus(ctx, g.p.DB, cli.By(), p.ID, "PLANNED")
			return err
		})
	},
	"export.completed": (*trigger).export,
	"import.completed": (*trigger).imported,
	"webhook.disabled": (*trigger).disabledWebhook,
}

func (g *trigger) changeDriver(ctx context.Context, change func(*driver.Record)) (string, error) {
	d, err := g.aDriver(ctx)
	if err == nil {
		_, err = driver.Store.Change(ctx, g.t, cli.By(), d.ID, func(r *driver.Record) error {
			change(r)
			return nil
		})
	}
	return d.ID, err
}

// erased asks for the erasure of a person, runs it when it is ready, and waits until the person is erased.
func (g *trigger) erased(ctx context.Context, err error, audience authz.Audience, id string) (string, error) {
	if err != nil {
		return "", err
	}
	r, err := privacy.Begin(ctx, g.t, g.p.Jobs(), cli.By(), privacy.Erase, audience, id)
	if err != nil {
		return "", err
	}
	return id, await(ctx, "the erasure", func() (bool, error) {
		now, err := privacy.Get(ctx, g.t, r.ID, time.Now())
		if err == nil && now.Status == privacy.Ready {
			_, err = privacy.Run(ctx, g.t, g.p.Jobs(), cli.By(), r.ID)
		}
		if now.Status == privacy.Blocked && err == nil {
			err = fmt.Errorf("the erasure %s is blocked: svc privacy show says why", r.ID)
		}
		return now.Status == privacy.Done, err
	})
}

// document adds a document to a driver. The function change, if it is not nil, then changes the document.
func (g *trigger) document(ctx context.Context, change func(*fleet.DriverDocumentEdit)) (string, error) {
	d, err := g.aDriver(ctx)
	if err != nil {
		return "", err
	}
	doc, err := fleet.AddDocument(ctx, g.t, cli.By(), d.ID, fleet.DriverDocument{
		DriverDocumentEdit: fleet.DriverDocumentEdit{Kind: "OTHER"}})
	if err = g.told(ctx, err, fleet.Key(g.t, d.ID, doc.ID)); err == nil && change != nil {
		_, err = fleet.SetDocument(ctx, g.t, cli.By(), d.ID, doc.ID, func(d *fleet.DriverDocumentEdit) error {
			change(d)
			return nil
		})
	}
	return doc.ID, err
}

func (g *trigger) business(ctx context.Context) (string, error) {
	b, err := delivery.AddBusiness(ctx, g.t, cli.By(), delivery.Business{Name: "svc trigger", Category: "restaurant",
		Address: "1 Trigger Street", Lat: "40.7128", Lng: "-74.006", Active: true})
	return b.ID, g.told(ctx, err, delivery.BusinessKey(g.t, b.ID))
}

// menuItem adds a menu item to a new business. If soldOut is true, it then marks the item as not available.
func (g *trigger) menuItem(ctx context.Context, soldOut bool) (string, error) {
	id, err := g.business(ctx)
	if err != nil {
		return "", err
	}
	m, err := delivery.AddMenuItem(ctx, g.t, cli.By(), id, delivery.MenuItem{MenuItemEdit: delivery.MenuItemEdit{
		Name: "svc trigger", Price: "5"}})
	if err = g.told(ctx, err, delivery.MenuItemKey(g.t, id, m.ID)); err == nil && soldOut {
		_, err = delivery.SetMenuItem(ctx, g.t, cli.By(), id, m.ID, func(m *delivery.MenuItem) error {
			m.Available = new(false)
			return nil
		})
	}
	return m.ID, err
}

func (g *trigger) order(ctx context.Context) (string, error) {
	id, err := g.business(ctx)
	if err != nil {
		return "", err
	}
	rider, err := g.aRider(ctx)
	if err != nil {
		return "", err
	}
	o, err := delivery.AddOrder(ctx, g.t, cli.By(), delivery.Order{BusinessID: id, CustomerID: rider.ID,
		Currency: g.flags.Text("currency"), DeliveryFee: "0", DeliveryAddress: "svc trigger",
		Items: []delivery.Line{{Name: "svc trigger", Quantity: 1, UnitPrice: "5"}}})
	return o.ID, g.told(ctx, err, delivery.OrderKey(g.t, o.ID))
}

func (g *trigger) changeOrder(ctx context.Context, status string, driver *string) (string, error) {
	id, err := g.order(ctx)
	if err == nil {
		_, err = delivery.SetOrder(ctx, g.t, cli.By(), id, status, driver)
	}
	return id, err
}

func (g *trigger) topUp(ctx context.Context, driver string) (string, error) {
	s, err := ledger(ctx, g.t)
	if err != nil {
		return "", err
	}
	made, err := s.Post(ctx, receipt.Post{Type: wallet.TopUp, Amount: "5", Description: "svc trigger", DriverID: &driver})
	return made.ID, err
}

// withdrawal requests a withdrawal for a new driver. end is the status that it then gets, "" to leave it open.
func (g *trigger) withdrawal(ctx context.Context, end string) (string, error) {
	d, err := g.newDriver(ctx)
	if err != nil {
		return "", err
	}
	if _, err = g.topUp(ctx, d.ID); err != nil {
		return "", err
	}
	till := wallet.Till{Tenant: g.t, By: cli.By(), Flags: g.flags,
		Commit: func(ctx context.Context, tx *table.Tx, _ any) error { return tx.Commit(ctx) }}
	w, err := till.Ask(ctx, d.ID, "5")
	if err != nil || end == "" {
		return cmp.Or(w, &wallet.Withdrawal{}).ID, err
	}
	it, err := g.t.Get(ctx, wallet.WithdrawalKey(g.t, w.ID))
	if err == nil {
		_, err = till.End(ctx, it, d.ID, end, new("svc trigger"))
	}
	return w.ID, err
}

// brand changes the address of the support page in the tenant's branding. It returns "branding".
func (g *trigger) brand(ctx context.Context) (string, error) {
	address := "https://svc.invalid.example/" + time.Now().Format("150405.000")
	patch, err := branding.ParsePatch(map[string]string{"supportUrl": address})
	if err == nil {
		commit := func(ctx context.Context, tx *table.Tx, _ branding.Branding) error { return tx.Commit(ctx) }
		_, err = branding.Change(ctx, g.t, cli.By(), patch, commit)
	}
	return "branding", err
}

// rename changes the company's name, waits until the feed has the event of the change, and restores the name.
func (g *trigger) rename(ctx context.Context) (string, error) {
	store, key := tenant.Store{DB: g.p.DB}, event.EmittedKey(g.t, tenant.Key(g.t))
	before, err := g.t.Get(ctx, key)
	if err != nil {
		return "", err
	}
	was := ""
	if _, err = store.Change(ctx, g.t.ID(), cli.By(), func(n *tenant.Tenant) error {
		was, n.Name = n.Name, n.Name+" (svc trigger)"
		return nil
	}); err != nil {
		return "", err
	}
	told := await(ctx, "the event of the company", func() (bool, error) {
		after, err := g.t.Get(ctx, key)
		return after.Raw() != before.Raw(), err
	})
	_, err = store.Change(ctx, g.t.ID(), cli.By(), func(n *tenant.Tenant) error {
		n.Name = was
		return nil
	})
	return g.t.ID(), errors.Join(told, err)
}

// copyOf begins an export of a rider's personal data. The service completes it as a job.
func (g *trigger) copyOf(ctx context.Context) (string, error) {
	rider, err := g.aRider(ctx)
	if err != nil {
		return "", err
	}
	r, err := privacy.Begin(ctx, g.t, g.p.Jobs(), cli.By(), privacy.Export, authz.Rider, rider.ID)
	return r.ID, err
}

// post adds a feedback post. The function then, if it is not nil, changes the post.
func (g *trigger) post(ctx context.Context, then func(feedback.Store, feedback.Post) error) (string, error) {
	author, err := g.aMember(ctx)
	if err != nil {
		return "", err
	}
	s := feedback.Store{Tenant: g.t, Platform: g.p.DB.Platform(feedback.Kinds...), Person: author, Now: time.Now(),
		Commit: func(ctx context.Context, tx *table.Tx, _ any) error { return tx.Commit(ctx) }}
	p, texts, err := feedback.Draft{Title: "svc trigger", Body: "svc trigger"}.New(author, g.t.ID(), s.Now)
	if err == nil {
		p, err = s.Submit(ctx, p, texts, func(feedback.Post) any { return nil })
	}
	if err = g.told(ctx, err, feedback.Key(p.ID)); err == nil && then != nil {
		err = then(s, p)
	}
	return p.ID, err
}

// export begins an export that no operator asked for, so the service ends it as FAILED.
func (g *trigger) export(ctx context.Context) (string, error) {
	job, err := export.New("drivers", "csv", nil, "", "", time.UTC, time.Now())
	if err != nil {
		return "", err
	}
	job.ID = ids.New(ids.Export, time.Now())
	return job.ID, g.retried(ctx, func(tx *table.Tx) {
		tx.Create(export.Kind.Item(g.t, "", export.Record{Job: job, Version: 1})).Else(table.ErrConflict)
		due.BeginJob(tx, g.p.Jobs(), g.t, job.ID)
	})
}

// imported begins an import whose file does not exist, so the service ends it as FAILED.
func (g *trigger) imported(ctx context.Context) (string, error) {
	job, err := imports.New(imports.Options{Kind: "customers", Format: "csv", Key: "email"}, time.Now())
	if err != nil {
		return "", err
	}
	job.ID = ids.New(ids.Import, time.Now())
	return job.ID, g.retried(ctx, func(tx *table.Tx) {
		tx.Create(imports.Kind.Item(g.t, "", imports.Record{Import: job, Version: 1})).Else(table.ErrConflict)
		due.BeginJob(tx, g.p.Jobs(), g.t, job.ID)
	})
}

// disabledWebhook adds a webhook endpoint and disables it, as if its receiver had answered 410.
func (g *trigger) disabledWebhook(ctx context.Context) (string, error) {
	one, err := webhook.New("https://svc.invalid.example/", "svc trigger", nil, cli.By().Who, time.Now(), false)
	if err != nil {
		return "", err
	}
	if _, one.Secret, err = webhook.NewSecret(ctx, g.p.Sealer(app.WebhookSealer).Seal, g.t, one.ID); err != nil {
		return "", err
	}
	if _, err := webhook.Adding(g.t, cli.By(), one).Run(ctx); err != nil {
		return "", err
	}
	var out webhook.Endpoint
	_, err = webhook.Editing(g.t, cli.By(), "update", one.ID, &out, func(_ *webhook.Book, r *webhook.Record) error {
		r.Disable(webhook.Gone, time.Now())
		return nil
	}).Run(ctx)
	return one.ID, err
}
