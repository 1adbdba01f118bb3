package machine

import (
	"context"
	"slices"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
)

// signInAge is how old the sign-in may be of who makes a machine, a secret or a key, in
// seconds.
const signInAge = 300

// Rows returns the endpoints of machines.
func Rows() []api.Row {
	read := authz.Operators("tenant.machines:read", "MANAGE_MACHINES")
	write := authz.Operators("tenant.machines:write", "MANAGE_MACHINES").ByPeople()
	tag, extension, one := api.Tag("Machines"), api.Extension(), api.One(ids.Machine, Key)
	const path = "/api/v1/machines/{id}"
	return []api.Row{
		api.Get("/api/v1/machines", "svc_list_machines", read, list, tag, extension, api.Summary("List machines"),
			api.Text("Newest first. A machine is a program of the company that signs in as itself, by the "+
				"`client_credentials` grant.")),
		api.Post("/api/v1/machines", "svc_create_machine", write, create, api.Created(), tag, extension,
			api.Fresh(signInAge), api.Versioned(), api.Summary("Make a machine"),
			api.Confirm("A program can get these permissions."),
			api.Text("It has no secret yet: `POST /api/v1/machines/{id}/secrets` makes one. The caller must hold each of its "+
				"permissions, and must have signed in within the last 5 minutes.")),
		api.Get(path, "svc_get_machine", read, get, one, tag, extension, api.Versioned(), api.Summary("Read a machine"),
			api.Text("With the last use of its secrets and keys, to the hour.")),
		api.Patch(path, "svc_update_machine", write, patch, one, tag, extension, api.Versioned(),
			api.Summary("Change a machine"), api.Confirm("A program gets other permissions, or loses its access."),
			api.Text("Only the given members change. The caller must hold each permission of the machine, before and after, "+
				"unless the change only disables it. A change that gives it a key, a permission or time needs a sign-in of the "+
				"last 5 minutes.")),
		api.Post(path+"/secrets", "svc_create_machine_secret", write, createSecret, api.Created(), one, tag, extension,
			api.Fresh(signInAge), api.NoTool(authz.Dashboard), api.Summary("Give a machine a secret, or replace it"),
			api.Text("The response shows `secret`, once. An earlier secret ends after the overlap, so that the program can "+
				"change over without a stop. At most two are valid at a time.")),
		api.Delete(path+"/secrets/{secret}", "svc_delete_machine_secret", write, removeSecret, one, tag, extension,
			api.Summary("Remove a secret of a machine"), api.Confirm("The program can no longer sign in with it."),
			api.Text("Tokens that it got end at once.")),
		api.Delete(path, "svc_delete_machine", write, remove, one, tag, extension, api.Versioned(),
			api.Summary("Delete a machine"), api.Confirm("The program loses its access for good."),
			api.Text("Its tokens end at once. The response is the machine as it was.")),
	}
}

func list(ctx context.Context, c *api.Caller, in *api.Paging) (*api.Page[Machine], error) {
	return api.ListPage(ctx, c, *in, api.List[Machine]{Name: "machines", Partitions: []string{partition(c.Tenant)},
		Query: table.Query{Index: 1, Backward: true}, Map: func(it table.Item) (Machine, error) {
			r, err := Kind.FromItem(it)
			return r.shown(c.Tenant), err
		}})
}

// IDInput names a machine.
type IDInput struct {
	ID string `path:"id" doc:"Identifier of the machine." example:"mch_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
}

func get(ctx context.Context, c *api.Caller, in *IDInput) (*Machine, error) {
	r, err := api.Stored(ctx, c, &Kind, Key(c.Tenant, in.ID))
	if err != nil {
		return nil, err
	}
	out := r.shown(c.Tenant)
	return &out, nil
}

type createInput struct{ Body MachineEdit }

func create(ctx context.Context, c *api.Caller, in *createInput) (*Machine, error) {
	r := Record{Made: Made{ids.New(ids.Machine, c.Now), timestamp.Format(c.Now), c.Actor.Subject}, MachineEdit: in.Body}
	if err := r.check(MachineEdit{}, c.Now, c.Local()); err != nil {
		return nil, api.InBody(err)
	}
	if err := c.Holds(ctx, r.Permissions); err != nil {
		return nil, err
	}
	out := r.shown(c.Tenant)
	c.Tagged(int64(1))
	return api.Make(ctx, c, &out, func(tx *table.Tx) error {
		audit.Add(tx, c.Tenant, c.By(), "machine.create", r.ID, Kind.Item(c.Tenant, "", r), out)
		return nil
	})
}

type patchInput struct {
	IDInput
	Body api.Changes[MachineEdit]
}

func patch(ctx context.Context, c *api.Caller, in *patchInput) (*Machine, error) {
	change := editing(c.Tenant, c.By(), "update", in.ID, func(r *Record) error { return in.Body.Apply(&r.MachineEdit) })
	change.Check = func(was Record, now *Record) error {
		if err := now.check(was.MachineEdit, c.Now, c.Local()); err != nil {
			return err
		}
		if now.gives(was.MachineEdit) {
			if err := c.Fresh(ctx, signInAge*time.Second); err != nil {
				return err
			}
		}
		now.endTokens(was, c.Now)
		if was.onlyDisabledBy(*now) {
			return nil
		}
		return c.Holds(ctx, append(slices.Clone(was.Permissions), now.Permissions...))
	}
	return api.Edit(ctx, c, change, func(r Record) Machine { return r.shown(c.Tenant) })
}

func remove(ctx context.Context, c *api.Caller, in *IDInput) (*Machine, error) {
	read := c.Reader()
	var out Machine
	err := table.Retry(ctx, func(ctx context.Context) error {
		it, err := read(ctx, Key(c.Tenant, in.ID))
		if err != nil {
			return err
		}
		was, err := Kind.FromItem(it)
		if err != nil {
			return err
		}
		if err := c.Match(it.Version); err != nil {
			return err
		}
		out = was.shown(c.Tenant)
		tx := c.Tenant.Write()
		tx.Delete(it.Key).If("'version' = ?", it.Version).Else(table.ErrConflict)
		audit.Append(tx, c.Tenant, c.By(), "machine.delete", in.ID, out, nil)
		return c.Commit(ctx, tx, &out)
	})
	return &out, err
}

type createSecretInput struct {
	IDInput
	Body *struct {
		OverlapHours *int `json:"overlapHours,omitempty" minimum:"0" maximum:"720" default:"24" doc:"For how many hours an earlier secret is still valid."`
	}
}

// NewMachineSecret is a secret with its text.
type NewMachineSecret struct {
	MachineSecret
	Secret string `json:"secret,omitempty" example:"svc_sk_live_…" doc:"The secret: a prefix, 43 letters and digits, and a checksum of 6. It is shown once, and again to the same client by a repeated request with the same Idempotency-Key."`
}

func createSecret(ctx context.Context, c *api.Caller, in *createSecretInput) (*NewMachineSecret, error) {
	state, err := c.Live(ctx)
	if err != nil {
		return nil, err
	}
	secret, hours := newSecret(tenant.IsSandbox(state.Flags)), 24
	if in.Body != nil && in.Body.OverlapHours != nil {
		hours = *in.Body.OverlapHours
	}
	shown, err := c.Reveal(ctx, secret)
	if err == nil && !shown {
		err = &fault.Error{Kind: fault.KindForbidden, Message: "An agent never sees a secret. A person must make it."}
	}
	if err != nil {
		return nil, err
	}
	var out NewMachineSecret
	_, err = api.Edit(ctx, c, editing(c.Tenant, c.By(), "secret.create", in.ID, func(r *Record) error {
		if err := c.Holds(ctx, r.Permissions); err != nil {
			return err
		}
		out.MachineSecret, err = r.add(secret, c.Actor.Subject, time.Duration(hours)*time.Hour, c.Now)
		return err
	}), func(Record) NewMachineSecret { return out })
	if err != nil {
		return nil, err
	}
	out.Secret = secret
	return &out, nil
}

type removeSecretInput struct {
	IDInput
	Secret string `path:"secret" doc:"Identifier of the secret." example:"sec_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
}

func removeSecret(ctx context.Context, c *api.Caller, in *removeSecretInput) (*Machine, error) {
	return api.Edit(ctx, c, editing(c.Tenant, c.By(), "secret.delete", in.ID, func(r *Record) error { return r.remove(in.Secret) }),
		func(r Record) Machine { return r.shown(c.Tenant) })
}
