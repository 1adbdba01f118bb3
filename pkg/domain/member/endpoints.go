package member

import (
	"context"
	"errors"
	"slices"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/base/config"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/person"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
)

// signInAge is how old the sign-in may be of who invites a member or changes permissions, in
// seconds.
const signInAge = 300

// Rows returns the endpoints of members. db has the people, who do not belong to one tenant.
func Rows(db *table.DB) []api.Row {
	h := handler{person.Store{DB: db}}
	read := authz.Operators("tenant.members:read", authz.ManageMembers)
	write := authz.Operators("tenant.members:write", authz.ManageMembers).ByPeople()
	tag, extension, one := api.Tag("Members"), api.Extension(), api.One(ids.Person, membershipKey)
	both := api.Needs(func(t table.Tenant, p api.Peek) []table.Key {
		if id := p.Path("id"); ids.Valid(ids.Person, id) {
			return []table.Key{membershipKey(t, id), person.InvitationKey(t, id)}
		}
		return nil
	})
	invitee := api.Needs(func(t table.Tenant, p api.Peek) []table.Key {
		return []table.Key{tenant.Key(t), person.InvitationKey(t, person.InvitationID(t, p.Body("email")))}
	})
	who := api.Early(func(ctx context.Context, _ table.Tenant, p api.Peek) (table.Item, error) {
		return h.people.Item(ctx, p.Path("id"))
	})
	const path = "/api/v1/members/{id}"
	return []api.Row{
		api.Get("/api/v1/members", "svc_list_members", read, h.list, tag, extension, api.Summary("List members"),
			api.Text("The operators of the company. Who is invited comes first.")),
		api.Post("/api/v1/members", "svc_invite_member", write, h.invite, api.Created(), tag, extension, invitee,
			api.Fresh(signInAge), api.Summary("Invite a member, or send the invitation again"),
			api.Confirm("The person can become an operator of the company, with these permissions."),
			api.NoEvent("`member.created` tells when the person has accepted"),
			api.Text("The person gets a mail with a link, which is valid for 24 hours, and joins by signing in there or, "+
				"without an account, by setting a password. To invite an address again replaces its invitation and ends "+
				"the earlier link. The caller must hold each of the permissions, and must have signed in within the last 5 "+
				"minutes. If the service cannot mail, `svc member invite` shows the link to the platform's operator.")),
		api.Get(path, "svc_get_member", read, h.get, one, both, tag, extension, api.Versioned(),
			api.Summary("Read a member"), api.Text("Also one who is invited or disabled.")),
		api.Patch(path, "svc_update_member", write, h.patch, one, both, who, tag, extension, api.Versioned(),
			api.Summary("Change, disable or enable a member"),
			api.Confirm("The person can do other things in the company, or nothing."),
			api.Text("Only the given members change. The caller must hold each permission of the member, before and after. "+
				"Other permissions need a sign-in of the last 5 minutes. `disabled` ends the member's tokens at once and for "+
				"good. The last enabled member with MANAGE_MEMBERS keeps it. Who has not accepted is invited again instead.")),
		api.Delete(path, "svc_remove_member", write, h.remove, one, both, who, tag, extension, api.Versioned(),
			api.Summary("Remove a member, or take an invitation back"),
			api.Confirm("The person loses the access to the company. A link of an invitation ends."),
			api.Text("The caller must hold each permission of the member. The last enabled member with MANAGE_MEMBERS "+
				"stays. The response is the member as it was.")),
		api.Get("/api/v1/roles", "svc_list_roles", read, roles, tag, extension, api.Summary("List roles"),
			api.Text("Templates for permissions. A member keeps what was copied when the role was assigned.")),
	}
}

type handler struct{ people person.Store }

func membershipKey(t table.Tenant, id string) table.Key {
	return authz.ActorKey(t, authz.Dashboard, id)
}

func roles(context.Context, *api.Caller, *struct{}) (*api.Items[person.Role], error) {
	return &api.Items[person.Role]{Items: person.Roles()}, nil
}

// list reads by-g1 T#t#MEMBERS, then the people in one batch.
func (h handler) list(ctx context.Context, c *api.Caller, in *api.Paging) (*api.Page[Member], error) {
	page, err := api.ListPage(ctx, c, *in, api.List[Member]{Name: "members",
		Partitions: []string{person.MembersPartition(c.Tenant)}, Query: table.Query{Index: 1},
		Map: func(it table.Item) (Member, error) {
			if it.Type == person.InvitationKind.Type {
				n, err := person.InvitationKind.FromItem(it)
				return shownInvitation(n), err
			}
			m, err := person.MemberKind.FromItem(it)
			return shown(person.Person{}, m), err
		}})
	if err != nil {
		return nil, err
	}
	var joined []string
	for _, m := range page.Items {
		if m.InvitedBy == nil {
			joined = append(joined, m.ID)
		}
	}
	people, err := h.people.ByIDs(ctx, joined)
	for i := range page.Items {
		m := &page.Items[i]
		if p, ok := people[m.ID]; ok {
			m.Email, m.FirstName, m.LastName = p.Email, p.FirstName, p.LastName
		}
	}
	return page, err
}

// IDInput names a member.
type IDInput struct {
	ID string `path:"id" doc:"Identifier of the member." example:"usr_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
}

// get reads the person concurrently with the checks.
func (h handler) get(ctx context.Context, c *api.Caller, in *IDInput) (*Member, error) {
	record, err := h.people.Item(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	it, n, err := invitation(ctx, c.Item, c.Tenant, in.ID)
	if err == nil {
		c.Tagged(it.Version)
		out := shownInvitation(n)
		return &out, nil
	}
	m, err := api.Stored(ctx, c, &person.MemberKind, membershipKey(c.Tenant, in.ID))
	if err != nil {
		return nil, err
	}
	p, err := person.FromItem(record)
	out := shown(p, m)
	return &out, err
}

// invitation reads the invitation with the id. It returns fault.NotFound if there is none.
func invitation(
	ctx context.Context, read audit.Reader, t table.Tenant, id string,
) (it table.Item, n person.Invitation, err error) {
	if it, err = read(ctx, person.InvitationKey(t, id)); err != nil {
		return it, n, err
	}
	n, err = person.InvitationKind.FromItem(it)
	return it, n, err
}

type inviteInput struct{ Body NewMember }

// invite stores an invitation in place of the earlier one of the address, with a link that
// is mailed. It never tells whether the address has an account.
func (h handler) invite(ctx context.Context, c *api.Caller, in *inviteInput) (*Invited, error) {
	if err := in.Body.check(); err != nil {
		return nil, api.InBody(err)
	}
	company, err := tenant.Kind.Get(ctx, c.Item, tenant.Key(c.Tenant))
	if err != nil {
		return nil, err
	}
	if c.Operated() && c.BaseURL() == "" {
		return nil, fault.InvalidState("The link needs the service's address: set BASE_URL.")
	}
	n := person.Invitation{ID: person.InvitationID(c.Tenant, in.Body.Email), Email: in.Body.Email, Role: in.Body.Role,
		Permissions: in.Body.Permissions, InvitedBy: c.Actor.Subject, InvitedAt: timestamp.Format(c.Now)}
	link := ""
	if c.Mails() || c.Operated() {
		link = c.BaseURL() + n.NewLink(c.Tenant, c.Now.Add(login.LinkLife))
	}
	out, by := &Invited{Member: shownInvitation(n)}, changer{c, c.Reader()}
	err = table.Retry(ctx, func(ctx context.Context) error {
		it, was, err := invitation(ctx, by.read, c.Tenant, n.ID)
		if err != nil && !errors.Is(err, fault.NotFound()) {
			return err
		}
		tx := c.Tenant.Write()
		if err := by.holds(ctx, tx, nil, append(slices.Clone(was.Permissions), n.Permissions...)...); err != nil {
			return err
		}
		audit.Put(tx, it, person.InvitationKind.Item(c.Tenant, "", n))
		var before any
		if it.Found() {
			before = was.Logged()
		}
		audit.Append(tx, c.Tenant, c.By(), "member.invite", n.ID, before, n.Logged())
		if c.Mails() {
			if err := c.CountMail(ctx, tx, config.MailInvitation); err != nil {
				return err
			}
		}
		return c.Commit(ctx, tx, out)
	})
	switch {
	case err != nil:
		return nil, err
	case c.Operated():
		return &Invited{out.Member, link}, nil
	case c.Mails():
		c.Mail(ctx, n.Email, "Work with "+company.Name, company.Name+" invites you to work as an operator.\n\n"+
			"Accept with this link. It is valid for 24 hours and works once:\n\n"+link+
			"\n\nIf you did not expect this, ignore it: nobody joins without accepting.\n")
	}
	return out, nil
}

type patchInput struct {
	IDInput
	Body api.Changes[MemberEdit]
}

func (h handler) patch(ctx context.Context, c *api.Caller, in *patchInput) (*Member, error) {
	if _, _, err := invitation(ctx, c.Item, c.Tenant, in.ID); !errors.Is(err, fault.NotFound()) {
		if err == nil {
			err = fault.InvalidState("The person has not accepted yet. Invite the address again, with what is to change.")
		}
		return nil, err
	}
	edit := func(m *person.Membership) error {
		was := m.Permissions
		e := MemberEdit{m.Role, m.Permissions, m.Disabled}
		if err := in.Body.Apply(&e); err != nil {
			return err
		}
		if err := e.set(m, in.Body.Names); err != nil {
			return err
		}
		if slices.Equal(was, m.Permissions) {
			return nil
		}
		return c.Fresh(ctx, signInAge*time.Second)
	}
	var version int64
	people, _ := h.by(ctx, c, in.ID)
	guard := people.By.Guard
	people.By.Guard = func(ctx context.Context, tx *table.Tx, read table.Item, was, now person.Membership) error {
		version = read.Version
		return guard(ctx, tx, read, was, now)
	}
	people.By.Commit = func(ctx context.Context, tx *table.Tx, p person.Person, m person.Membership) error {
		c.Tagged(version + 1)
		out := shown(p, m)
		return c.Commit(ctx, tx, &out)
	}
	p, m, err := people.Edit(ctx, c.Tenant, c.By(), "member.update", in.ID, edit)
	if err != nil {
		return nil, api.InBody(err)
	}
	out := shown(p, m)
	return &out, nil
}

// by returns the store for a change of the member by the caller. Its first attempt reads
// nothing: the row has read the person and the membership beside the checks.
func (h handler) by(ctx context.Context, c *api.Caller, id string) (person.Store, changer) {
	people, tenants := h.people, c.Reader()
	early := true
	by := changer{c, func(ctx context.Context, key table.Key) (table.Item, error) {
		switch {
		case key != people.Key(id):
			return tenants(ctx, key)
		case early:
			early = false
			return api.EarlyOf[table.Item](ctx, c)
		}
		return people.Item(ctx, id)
	}}
	people.By = &person.Changer{Read: by.read, Guard: by.guard}
	return people, by
}

func (h handler) remove(ctx context.Context, c *api.Caller, in *IDInput) (*Member, error) {
	people, by := h.by(ctx, c, in.ID)
	it, n, err := invitation(ctx, by.read, c.Tenant, in.ID)
	if err == nil {
		return takeBack(ctx, c, by, it, n)
	}
	if !errors.Is(err, fault.NotFound()) {
		return nil, err
	}
	var out Member
	people.By.Commit = func(ctx context.Context, tx *table.Tx, p person.Person, m person.Membership) error {
		out = shown(p, m)
		return c.Commit(ctx, tx, &out)
	}
	err = people.Leave(ctx, c.Tenant, c.By(), in.ID)
	return &out, err
}

// takeBack deletes an invitation that was read. If it was accepted meanwhile, the error is
// fault.NotFound.
func takeBack(ctx context.Context, c *api.Caller, by changer, it table.Item, n person.Invitation) (*Member, error) {
	var out Member
	err := table.Retry(ctx, func(ctx context.Context) (err error) {
		if out.ID != "" { // a later attempt
			if it, n, err = invitation(ctx, by.read, c.Tenant, n.ID); err != nil {
				return err
			}
		}
		out = shownInvitation(n)
		if err := c.Match(it.Version); err != nil {
			return err
		}
		tx := c.Tenant.Write()
		if err := by.holds(ctx, tx, nil, n.Permissions...); err != nil {
			return err
		}
		n.End(tx, c.Tenant, c.By(), it)
		return c.Commit(ctx, tx, &out)
	})
	return &out, err
}
