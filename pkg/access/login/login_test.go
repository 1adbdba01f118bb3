package login_test

import (
	"errors"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
)

// TestMove checks that a moved address keeps the account's current password,
// also one that was set after the row was read.
func TestMove(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	db, by := testkit.Table(t), audit.By{Who: "svc:test", At: start}
	later := audit.By{Who: by.Who, At: start.Add(time.Hour)}
	for name, first := range map[string]string{"over a password": "old", "over none": ""} {
		t.Run(name, func(t *testing.T) {
			tn, ctx, actor := db.Tenant(ids.New(ids.Tenant, start)), t.Context(), ids.New(ids.Customer, start)
			commit := func(do func(tx *table.Tx)) error {
				tx := tn.Write()
				do(tx)
				return tx.Commit(ctx)
			}
			move := func(was login.Login) error {
				return commit(func(tx *table.Tx) { login.Move(tx, tn, authz.Rider, was, "a@metro.example", "b@metro.example") })
			}
			if err := commit(func(tx *table.Tx) {
				login.Create(tx, tn, authz.Rider, "a@metro.example", actor, first, false, by)
			}); err != nil {
				t.Fatal(err)
			}
			was, err := login.Find(ctx, tn, authz.Rider, "a@metro.example")
			if err != nil {
				t.Fatal(err)
			}
			set := func(since, hash string) error {
				return commit(func(tx *table.Tx) {
					login.SetPassword(tx, login.Key(tn, authz.Rider, "a@metro.example"), actor, since, hash, later)
				})
			}
			if err := set(was.Since, "new"); err != nil {
				t.Fatal(err)
			}
			if err := set(was.Since, "newer"); !errors.Is(err, fault.NotFound()) {
				t.Errorf("set over a password that was set after the row was read: %v", err)
			}
			if err := move(was); !errors.Is(err, table.ErrConflict) {
				t.Errorf("moved what was read before the password was set: %v", err)
			}
			if was, err = login.Find(ctx, tn, authz.Rider, "A@metro.example"); err != nil || was.Hash != "new" {
				t.Fatalf("%+v, %v", was.Actor, err)
			}
			if err := move(was); err != nil {
				t.Fatal(err)
			}
			if now, err := login.Find(ctx, tn, authz.Rider, "b@metro.example"); err != nil || now != was {
				t.Errorf("after the move: %v", err)
			}
		})
	}
}
