package link

import (
	"context"
	"errors"

	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/tenant"
)

// SignUp makes a rider's account, or sets the password of the account that an operator has
// added. It uses up the one-time link n, which the secret names. hash is the hash of the
// password. r is the rider's record; of an account that exists, SignUp reads only r.Agreed.
// The transaction also checks that the company still lets such riders sign up. The error is
// ErrGone if the company does not, if somebody used the link, or if the address has got an
// account or a password in the meantime.
func (k *Store) SignUp(ctx context.Context, secret string, n login.Link, r customer.Record, hash string) error {
	t, by := k.accounts.DB.Tenant(n.TenantID), audit.By{Who: n.Actor, At: k.Now()}
	// The values that the company's flags may have: not disabled, and one of two kinds of
	// sign-up.
	allowed := []any{false, tenant.SignUpOpen, tenant.SignUpInvite}
	if n.Actor == "" {
		by.Who, allowed[2] = r.ID, tenant.SignUpOpen
	}
	shards, err := tenant.WriteShards(ctx, t)
	if err != nil {
		return err
	}
	err = table.Retry(ctx, func(ctx context.Context) error {
		tx := k.p.Write()
		tx.Delete(login.LinkKey(k.p, secret)).If("attribute_exists(pk)").Else(ErrGone)
		tx.Covers(t.Handle).Check(authz.FlagsKey(t, ids.Pick(secret, authz.Copies))).
			If("'disabled' = ? AND ('"+tenant.SignUpFlag+"' = ? OR '"+tenant.SignUpFlag+"' = ?)", allowed...).Else(ErrGone)
		if n.Actor == "" {
			customer.Store.Add(tx, t, by, r, hash, shards)
			return tx.Commit(ctx)
		}
		login.SetPassword(tx, login.Key(t, n.Audience, n.Email), n.Actor, n.Since, hash, by)
		audit.Append(tx, t, by, "person.password", n.Actor, nil, nil)
		it, err := t.Get(ctx, customer.Key(t, n.Actor))
		if err != nil {
			return err
		}
		if _, err = customer.Store.Changing(t, by, n.Actor, func(c *customer.Record) error {
			c.Agreed = r.Agreed
			return nil
		}).Join(ctx, tx, it); err != nil {
			return err
		}
		return tx.Commit(ctx)
	})
	if errors.Is(err, login.ErrTaken) || errors.Is(err, fault.NotFound()) {
		return ErrGone
	}
	return err
}
