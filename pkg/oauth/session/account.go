package session

import (
	"context"
	"errors"
	"strings"

	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/base/email"
	"svc/pkg/base/fault"
	"svc/pkg/data/table"
	"svc/pkg/domain/person"
)

// Accounts reads the accounts that may sign in.
type Accounts struct{ DB *table.DB }

// TenantOf returns the tenant that an account of the audience belongs to. It
// returns "" for an operator, who is a person of the platform.
func TenantOf(audience authz.Audience, tenantID string) string {
	if audience == authz.Dashboard {
		return ""
	}
	return tenantID
}

// AccountKey returns the name of an account in the throttle's counters and in the records
// of browsers (Device).
func AccountKey(audience authz.Audience, tenantID, address string) string {
	return strings.Join([]string{string(audience), TenantOf(audience, tenantID), email.Fold(address)}, "\n")
}

// Enabled reports whether an actor or a tenant exists and is not disabled.
func Enabled(it table.Item) bool { return it.Found() && !it.Flag("disabled") }

// Login returns the login of the account with a mail address, or the zero Login if there
// is none.
func (a Accounts) Login(ctx context.Context, audience authz.Audience, tenantID, email string) (login.Login, error) {
	var l login.Login
	var err error
	if audience == authz.Dashboard {
		l, err = person.Store{DB: a.DB}.Login(ctx, email)
	} else {
		l, err = login.Find(ctx, a.DB.Tenant(tenantID), audience, email)
	}
	if errors.Is(err, fault.NotFound()) {
		return login.Login{}, nil
	}
	return l, err
}

// Admitted reports whether the account may act in the tenant, or in any tenant
// if tenantID is "".
func (a Accounts) Admitted(ctx context.Context, audience authz.Audience, tenantID string, l login.Login) (bool, error) {
	if tenantID == "" {
		choices, err := a.Memberships(ctx, l.Actor)
		return len(choices) > 0, err
	}
	t := a.DB.Tenant(tenantID)
	var actor, flags table.Item
	var reads table.BatchGet
	reads.Add(t.Handle, authz.ActorKey(t, audience, l.Actor), &actor)
	reads.Add(t.Handle, authz.FlagsKey(t, 0), &flags)
	if err := reads.Do(ctx); err != nil {
		return false, err
	}
	return Enabled(actor) && Enabled(flags), nil
}

// Membership is a tenant that a person may act in.
type Membership struct{ TenantID, Slug, Name string }

// Memberships returns the tenants in which a person may act now.
func (a Accounts) Memberships(ctx context.Context, actor string) ([]Membership, error) {
	all, err := person.Store{DB: a.DB}.Memberships(ctx, actor)
	if err != nil {
		return nil, err
	}
	var reads table.BatchGet
	flags := make([]table.Item, len(all))
	for n, m := range all {
		if !m.Disabled {
			t := a.DB.Tenant(m.TenantID)
			reads.Add(t.Handle, authz.FlagsKey(t, 0), &flags[n])
		}
	}
	if err := reads.Do(ctx); err != nil {
		return nil, err
	}
	var out []Membership
	for n, it := range flags {
		if Enabled(it) {
			out = append(out, Membership{TenantID: all[n].TenantID, Slug: it.Text("slug"), Name: it.Text("name")})
		}
	}
	return out, nil
}

// Mailbox returns the mail address in the actor's record, or "".
func (a Accounts) Mailbox(ctx context.Context, audience authz.Audience, tenantID, actor string) (string, error) {
	var it table.Item
	var err error
	if audience == authz.Dashboard {
		people := a.DB.Platform("PERSON")
		it, err = people.Get(ctx, person.Key(people, actor))
	} else {
		t := a.DB.Tenant(tenantID)
		it, err = t.Get(ctx, authz.ActorKey(t, audience, actor))
	}
	if err != nil || !it.Found() {
		return "", err
	}
	var record struct {
		Email string `json:"email"`
	}
	return record.Email, it.Decode(&record)
}
