package people

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/access/password"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/person"
	"svc/pkg/oauth/link"
)

func memberCommand(c *cli.CLI) *cobra.Command {
	return cli.Group("member", "Operators' memberships and permissions", memberAdd(c), memberRemove(c), memberGrant(c),
		memberRevoke(c), memberDisable(c), memberList(c))
}

// newPassword adds the flag for a new account's password. The returned function
// returns the password's hash, "" if the flag was not set, and a usage error for a
// password that password.Check rejects.
func newPassword(cmd *cobra.Command) func() (string, error) {
	value := cmd.Flags().String("password", "", "initial `password`; without it a one-time link is printed")
	return func() (string, error) {
		if *value == "" {
			return "", nil
		}
		if err := password.Check(*value); err != nil {
			return "", cli.Usagef("%w", err)
		}
		return password.Hash(*value), nil
	}
}

// linkable returns an error if an account needs a one-time link and the
// service's address, which the link begins with, is unknown.
func linkable(p cli.Platform, hash string) error {
	if hash == "" && p.BaseURL == "" {
		return errors.New("nothing was added: the link for the first password needs the service's address; " +
			"set BASE_URL, or give --password")
	}
	return nil
}

// permitted returns one error that names every unknown permission.
func permitted(permissions []string) error {
	var faults []error
	for _, one := range permissions {
		if err := cli.Known("permission", one, authz.Permissions()); err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return cli.Usagef("%w", errors.Join(faults...))
}

// linkTo creates the one-time link for an account without a password. It returns ""
// for an account with a password.
func linkTo(ctx context.Context, p cli.Platform, audience authz.Audience, tenantID, address, hash string) (string,
	error) {
	if hash != "" {
		return "", nil
	}
	return link.New(ctx, p.DB, p.BaseURL, audience, tenantID, address, time.Now())
}

// added is the output of a command that adds a person.
type added struct {
	ID    string `json:"id"`
	Email string `json:"email"`
	Link  string `json:"link,omitempty"`
}

// addPerson returns the code of a command that adds a driver or rider: SLUG
// EMAIL.
func addPerson(c *cli.CLI, what string, audience authz.Audience, hash func() (string, error),
	create func(ctx context.Context, t table.Tenant, address, hashed string) (added,
		error)) func(*cobra.Command, []string) error {
	return cli.Act(func(ctx context.Context, args []string) error {
		hashed, err := hash()
		if err != nil {
			return err
		}
		p, t, err := c.At(ctx, args[0])
		if err != nil {
			return err
		}
		if err := linkable(p, hashed); err != nil {
			return err
		}
		made, err := create(ctx, t, args[1], hashed)
		if err != nil {
			return err
		}
		if made.Link, err = linkTo(ctx, p, audience, t.ID(), made.Email, hashed); err != nil {
			return err
		}
		return showAdded(c, what, made)
	})
}

func showAdded(c *cli.CLI, what string, a added) error {
	if a.Link == "" {
		return c.Done(a, "Added %s %s (%s).", what, a.Email, a.ID)
	}
	return c.Done(a, "Added %s %s (%s). One-time link to set a password, valid for %s:\n%s", what, a.Email, a.ID,
		cli.Span(login.LinkLife), a.Link)
}

func memberAdd(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "add SLUG EMAIL", Short: "Add an operator to a tenant",
		Long: "Add an operator to a tenant. If no operator has this mail address yet, the command also creates the person\n" +
			"and, without --password, prints a one-time link to set a password. For an existing operator it ignores\n" +
			"--first, --last and --password.",
		Example: "  svc member add metro ana@metro.example --first Ana --last Silva \\\n" +
			"    --role dispatcher --permission VIEW_REPORTS\n" +
			"  svc member add metro boss@metro.example --all"}
	first, last := cmd.Flags().String("first", "", "first `name`"), cmd.Flags().String("last", "", "last `name`")
	role := roleFlag(cmd)
	permissions := cmd.Flags().StringArray("permission", nil, "`PERMISSION` to grant; may be repeated")
	everything := cmd.Flags().Bool("all", false, "grant every permission")
	hash := newPassword(cmd)
	cmd.RunE = cli.Act(func(ctx context.Context, args []string) error {
		if *everything {
			*permissions = authz.Permissions()
		}
		name, granted, err := role()
		if err != nil {
			return err
		}
		*permissions = append(*permissions, granted...)
		if err := permitted(*permissions); err != nil {
			return err
		}
		hashed, err := hash()
		if err != nil {
			return err
		}
		p, t, err := c.At(ctx, args[0])
		if err != nil {
			return err
		}
		store := person.Store{DB: p.DB}
		one, err := store.ByEmail(ctx, args[1])
		known := err == nil
		if errors.Is(err, fault.NotFound()) {
			if err := linkable(p, hashed); err != nil {
				return err
			}
			one, err = store.Create(ctx, cli.By(), person.Person{Email: args[1], FirstName: *first, LastName: *last}, hashed)
		}
		if err != nil {
			return err
		}
		if _, err := store.Join(ctx, t, cli.By(), one.ID, cmp.Or(name, "operator"), *permissions); err != nil {
			return err
		}
		out := added{ID: one.ID, Email: one.Email}
		if !known {
			if out.Link, err = linkTo(ctx, p, authz.Dashboard, "", one.Email, hashed); err != nil {
				return err
			}
		}
		return showAdded(c, "operator", out)
	})
	return cmd
}

// membership returns the code of a command that changes the membership of the
// person with the id. The command's arguments are SLUG EMAIL and the rest.
func membership(c *cli.CLI, change func(ctx context.Context, s person.Store, t table.Tenant, id string,
	rest []string) error) func(*cobra.Command, []string) error {
	return c.On(func(ctx context.Context, p cli.Platform, args []string) error {
		one, err := p.Operator(ctx, args[1])
		if err != nil {
			return err
		}
		_, t, err := p.Tenant(ctx, args[0])
		if err != nil {
			return err
		}
		err = change(ctx, person.Store{DB: p.DB}, t, one.ID, args[2:])
		if errors.Is(err, fault.NotFound()) {
			return cli.Missing(err, "member", args[1])
		}
		return err
	})
}

// roleFlag adds the flag for a role. The returned function returns the role's name and
// permissions, "" and none without the flag.
func roleFlag(cmd *cobra.Command) func() (string, []string, error) {
	var names []string
	for _, one := range person.Roles() {
		names = append(names, one.Name)
	}
	given := cmd.Flags().String("role", "", "`role` whose permissions are copied: "+strings.Join(names, ", "))
	return func() (string, []string, error) {
		role, known := person.RoleOf(*given)
		if *given != "" && !known {
			return "", nil, cli.Usagef("%w", cli.Known("role", *given, names))
		}
		return role.Name, role.Permissions, nil
	}
}

func memberRemove(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "remove SLUG EMAIL", Short: "End a membership and its tokens, or take an invitation back",
		Long: "End a membership and its tokens, or take back the invitation of a mail address. The command also removes the\n" +
			"last member who may manage members.",
		Example: "  svc member remove metro ana@metro.example",
		RunE: c.On(func(ctx context.Context, p cli.Platform, args []string) error {
			_, t, err := p.Tenant(ctx, args[0])
			if err != nil {
				return err
			}
			s, id := person.Store{DB: p.DB}, args[1]
			if !ids.Valid(ids.Person, id) {
				id = person.InvitationID(t, id)
			}
			err = s.TakeBack(ctx, t, cli.By(), id)
			if err == nil {
				return c.Done(map[string]string{"id": id}, "Took the invitation back.")
			}
			if !errors.Is(err, fault.NotFound()) {
				return err
			}
			one, err := p.Operator(ctx, args[1])
			if err != nil {
				return err
			}
			if err := s.Leave(ctx, t, cli.By(), one.ID); err != nil {
				return cli.Missing(err, "member", args[1])
			}
			return c.Done(map[string]string{"id": one.ID}, "Ended the membership.")
		})}
}

func memberGrant(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "grant SLUG EMAIL [PERMISSION…]", Short: "Grant permissions",
		Long: "Grant permissions. With --role, the member gets the name and the permissions of the role, and keeps others.",
		Example: "  svc member grant metro ana@metro.example VIEW_REPORTS EXPORT_REPORTS\n" +
			"  svc member grant metro ana@metro.example --role accountant"}
	role := roleFlag(cmd)
	cmd.RunE = membership(c, func(ctx context.Context, s person.Store, t table.Tenant, id string,
		permissions []string) error {
		name, granted, err := role()
		if err != nil {
			return err
		}
		permissions = append(permissions, granted...)
		if err := permitted(permissions); err != nil {
			return err
		}
		if len(permissions) == 0 {
			return cli.Usagef("name a permission or --role")
		}
		_, m, err := s.Edit(ctx, t, cli.By(), "member.grant", id, func(m *person.Membership) (err error) {
			m.Role = cmp.Or(name, m.Role)
			m.Permissions, err = authz.ParsePermissions("permission", append(m.Permissions, permissions...))
			return err
		})
		if err != nil {
			return err
		}
		return c.Done(m, "Granted; %d permissions now.", len(m.Permissions))
	})
	return cmd
}

func memberRevoke(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "revoke SLUG EMAIL PERMISSION…", Short: "Revoke permissions",
		Long:    "Revoke permissions. From the next request on, the service rejects what the operator may no longer do.",
		Example: "  svc member revoke metro operator@metro.example VIEW_TRIPS",
		RunE: membership(c, func(ctx context.Context, s person.Store, t table.Tenant, id string, permissions []string) error {
			m, err := s.Revoke(ctx, t, cli.By(), id, permissions...)
			if err != nil {
				return err
			}
			return c.Done(m, "Revoked; %d permissions left.", len(m.Permissions))
		})}
}

func memberDisable(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "disable SLUG EMAIL", Short: "Disable a membership, or the person everywhere",
		Example: "  svc member disable metro ana@metro.example\n  svc member disable metro ana@metro.example " +
			"--everywhere\n  svc member disable metro ana@metro.example --undo"}
	everywhere := cmd.Flags().Bool("everywhere", false, "disable the person's sign-in and every membership")
	undo := cmd.Flags().Bool("undo", false, "enable the membership or the person again")
	cmd.RunE = membership(c, func(ctx context.Context, s person.Store, t table.Tenant, id string, _ []string) error {
		var err error
		if *everywhere {
			err = s.DisableEverywhere(ctx, cli.By(), id, !*undo)
		} else {
			_, err = s.Disable(ctx, t, cli.By(), id, !*undo)
		}
		if err != nil {
			return err
		}
		word := map[bool]string{false: "Disabled", true: "Enabled"}[*undo]
		return c.Done(map[string]any{"id": id, "disabled": !*undo}, "%s.", word)
	})
	return cmd
}

func memberList(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "list SLUG", Short: "List a tenant's members", Example: "  svc member list metro"}
	limit := cmd.Flags().Int("limit", 100, "members at most")
	cmd.RunE = c.In(func(ctx context.Context, p cli.Platform, t table.Tenant, args []string) error {
		store := person.Store{DB: p.DB}
		members, err := cli.All(*limit, func(after string, limit int) ([]person.Membership, string, error) {
			return store.Members(ctx, t, after, limit)
		})
		if err != nil {
			return err
		}
		type row struct {
			person.Membership
			Email   string `json:"email"`
			Invited bool   `json:"invited,omitempty"`
		}
		rows, table := []row{}, cli.Table{Head: "EMAIL ROLE DISABLED ID+ PERMISSIONS"}
		invited, err := cli.All(*limit, func(after string, limit int) ([]person.Invitation, string, error) {
			return store.Invitations(ctx, t, after, limit)
		})
		if err != nil {
			return err
		}
		for _, n := range invited {
			rows = append(rows, row{person.Membership{TenantID: t.ID(), PersonID: n.ID, Role: n.Role,
				Permissions: n.Permissions, CreatedAt: n.InvitedAt}, n.Email, true})
			table.Add(n.Email, n.Role, "invited", n.ID, c.Summary(n.Permissions, authz.Permissions()))
		}
		for _, m := range members {
			one, err := store.ByID(ctx, m.PersonID)
			if err != nil {
				return err
			}
			rows = append(rows, row{m, one.Email, false})
			table.Add(one.Email, m.Role, m.Disabled, one.ID, c.Summary(m.Permissions, authz.Permissions()))
		}
		return c.Show(rows, table)
	})
	return cmd
}
