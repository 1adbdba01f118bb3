package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/access/password"
	"svc/pkg/base/fault"
	"svc/pkg/data/table"
	"svc/pkg/domain/person"
	"svc/pkg/oauth/link"
)

func memberCommand(c *cli) *cobra.Command {
	return group("member", "Operators' memberships and permissions", c.memberAdd(), c.memberRemove(), c.memberGrant(),
		c.memberRevoke(), c.memberDisable(), c.memberList())
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
			return "", usageError{err}
		}
		return password.Hash(*value), nil
	}
}

// linkable returns an error if an account needs a one-time link and the
// service's address, which the link begins with, is unknown.
func (p platform) linkable(hash string) error {
	if hash == "" && p.baseURL == "" {
		return errors.New("nothing was added: the link for the first password needs the service's address; " +
			"set BASE_URL, or give --password")
	}
	return nil
}

// permitted returns one error that names every unknown permission.
func permitted(permissions []string) error {
	var faults []error
	for _, one := range permissions {
		if err := known("permission", one, authz.Permissions()); err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return usageError{errors.Join(faults...)}
}

// linkTo creates the one-time link for an account without a password. It returns ""
// for an account with a password.
func (p platform) linkTo(ctx context.Context, audience authz.Audience, tenantID, address, hash string) (string, error) {
	if hash != "" {
		return "", nil
	}
	return link.New(ctx, p.db, p.baseURL, audience, tenantID, address, time.Now())
}

// added is the output of a command that adds a person.
type added struct {
	ID    string `json:"id"`
	Email string `json:"email"`
	Link  string `json:"link,omitempty"`
}

// addPerson returns the code of a command that adds a driver or rider: SLUG
// EMAIL.
func (c *cli) addPerson(what string, audience authz.Audience, hash func() (string, error),
	create func(ctx context.Context, t table.Tenant, address, hashed string) (added,
		error)) func(*cobra.Command, []string) error {
	return act(func(ctx context.Context, args []string) error {
		hashed, err := hash()
		if err != nil {
			return err
		}
		p, t, err := c.at(ctx, args[0])
		if err != nil {
			return err
		}
		if err := p.linkable(hashed); err != nil {
			return err
		}
		made, err := create(ctx, t, args[1], hashed)
		if err != nil {
			return err
		}
		if made.Link, err = p.linkTo(ctx, audience, t.ID(), made.Email, hashed); err != nil {
			return err
		}
		return c.showAdded(what, made)
	})
}

func (c *cli) showAdded(what string, a added) error {
	if a.Link == "" {
		return c.done(a, "Added %s %s (%s).", what, a.Email, a.ID)
	}
	return c.done(a, "Added %s %s (%s). One-time link to set a password, valid for %s:\n%s", what, a.Email, a.ID,
		span(login.LinkLife), a.Link)
}

func (c *cli) memberAdd() *cobra.Command {
	cmd := &cobra.Command{Use: "add SLUG EMAIL", Short: "Add an operator to a tenant",
		Long: "Add an operator to a tenant. If no operator has this mail address yet, the command also creates the person\n" +
			"and, without --password, prints a one-time link to set a password. For an existing operator it ignores\n" +
			"--first, --last and --password.",
		Example: "  svc member add metro ana@metro.example --first Ana --last Silva \\\n" +
			"    --role dispatcher --permission VIEW_TRIPS --permission VIEW_DRIVERS\n" +
			"  svc member add metro boss@metro.example --all"}
	first, last := cmd.Flags().String("first", "", "first `name`"), cmd.Flags().String("last", "", "last `name`")
	role := cmd.Flags().String("role", "operator", "name of the role, a `text` for people; it grants nothing")
	permissions := cmd.Flags().StringArray("permission", nil, "`PERMISSION` to grant; may be repeated")
	everything := cmd.Flags().Bool("all", false, "grant every permission")
	hash := newPassword(cmd)
	cmd.RunE = act(func(ctx context.Context, args []string) error {
		if *everything {
			*permissions = authz.Permissions()
		}
		if err := permitted(*permissions); err != nil {
			return err
		}
		hashed, err := hash()
		if err != nil {
			return err
		}
		p, t, err := c.at(ctx, args[0])
		if err != nil {
			return err
		}
		store := person.Store{DB: p.db}
		one, err := store.ByEmail(ctx, args[1])
		known := err == nil
		if errors.Is(err, fault.NotFound()) {
			if err := p.linkable(hashed); err != nil {
				return err
			}
			one, err = store.Create(ctx, by(), person.Person{Email: args[1], FirstName: *first, LastName: *last}, hashed)
		}
		if err != nil {
			return err
		}
		if _, err := store.Join(ctx, t, by(), one.ID, *role, *permissions); err != nil {
			return err
		}
		out := added{ID: one.ID, Email: one.Email}
		if !known {
			if out.Link, err = p.linkTo(ctx, authz.Dashboard, "", one.Email, hashed); err != nil {
				return err
			}
		}
		return c.showAdded("operator", out)
	})
	return cmd
}

// membership returns the code of a command that changes the membership of the
// person with the id. The command's arguments are SLUG EMAIL and the rest.
func (c *cli) membership(change func(ctx context.Context, s person.Store, t table.Tenant, id string,
	rest []string) error) func(*cobra.Command, []string) error {
	return c.on(func(ctx context.Context, p platform, args []string) error {
		one, err := p.operator(ctx, args[1])
		if err != nil {
			return err
		}
		_, t, err := p.tenant(ctx, args[0])
		if err != nil {
			return err
		}
		err = change(ctx, person.Store{DB: p.db}, t, one.ID, args[2:])
		if errors.Is(err, fault.NotFound()) {
			return missing(err, "member", args[1])
		}
		return err
	})
}

func (c *cli) memberRemove() *cobra.Command {
	return &cobra.Command{Use: "remove SLUG EMAIL", Short: "End a membership and its tokens",
		Example: "  svc member remove metro ana@metro.example",
		RunE: c.membership(func(ctx context.Context, s person.Store, t table.Tenant, id string, _ []string) error {
			if err := s.Leave(ctx, t, by(), id); err != nil {
				return err
			}
			return c.done(map[string]string{"id": id}, "Ended the membership.")
		})}
}

func (c *cli) memberGrant() *cobra.Command {
	return &cobra.Command{Use: "grant SLUG EMAIL PERMISSION…", Short: "Grant permissions",
		Example: "  svc member grant metro ana@metro.example VIEW_REPORTS EXPORT_REPORTS",
		RunE: c.membership(func(ctx context.Context, s person.Store, t table.Tenant, id string, permissions []string) error {
			if err := permitted(permissions); err != nil {
				return err
			}
			m, err := s.Grant(ctx, t, by(), id, permissions...)
			if err != nil {
				return err
			}
			return c.done(m, "Granted; %d permissions now.", len(m.Permissions))
		})}
}

func (c *cli) memberRevoke() *cobra.Command {
	return &cobra.Command{Use: "revoke SLUG EMAIL PERMISSION…", Short: "Revoke permissions",
		Long:    "Revoke permissions. From the next request on, the service rejects what the operator may no longer do.",
		Example: "  svc member revoke metro operator@metro.example VIEW_TRIPS",
		RunE: c.membership(func(ctx context.Context, s person.Store, t table.Tenant, id string, permissions []string) error {
			m, err := s.Revoke(ctx, t, by(), id, permissions...)
			if err != nil {
				return err
			}
			return c.done(m, "Revoked; %d permissions left.", len(m.Permissions))
		})}
}

func (c *cli) memberDisable() *cobra.Command {
	cmd := &cobra.Command{Use: "disable SLUG EMAIL", Short: "Disable a membership, or the person everywhere",
		Example: "  svc member disable metro ana@metro.example\n  svc member disable metro ana@metro.example " +
			"--everywhere\n  svc member disable metro ana@metro.example --undo"}
	everywhere := cmd.Flags().Bool("everywhere", false, "disable the person's sign-in and every membership")
	undo := cmd.Flags().Bool("undo", false, "enable the membership or the person again")
	cmd.RunE = c.membership(func(ctx context.Context, s person.Store, t table.Tenant, id string, _ []string) error {
		var err error
		if *everywhere {
			err = s.DisableEverywhere(ctx, by(), id, !*undo)
		} else {
			_, err = s.Disable(ctx, t, by(), id, !*undo)
		}
		if err != nil {
			return err
		}
		word := map[bool]string{false: "Disabled", true: "Enabled"}[*undo]
		return c.done(map[string]any{"id": id, "disabled": !*undo}, "%s.", word)
	})
	return cmd
}

func (c *cli) memberList() *cobra.Command {
	cmd := &cobra.Command{Use: "list SLUG", Short: "List a tenant's members", Example: "  svc member list metro"}
	limit := cmd.Flags().Int("limit", 100, "members at most")
	cmd.RunE = c.in(func(ctx context.Context, p platform, t table.Tenant, args []string) error {
		store := person.Store{DB: p.db}
		members, err := all(*limit, func(after string, limit int) ([]person.Membership, string, error) {
			return store.Members(ctx, t, after, limit)
		})
		if err != nil {
			return err
		}
		type row struct {
			person.Membership
			Email string `json:"email"`
		}
		rows, table := []row{}, cols{head: "EMAIL ROLE DISABLED ID+ PERMISSIONS"}
		for _, m := range members {
			one, err := store.ByID(ctx, m.PersonID)
			if err != nil {
				return err
			}
			rows = append(rows, row{m, one.Email})
			table.add(one.Email, m.Role, m.Disabled, one.ID, c.summary(m.Permissions, authz.Permissions()))
		}
		return c.show(rows, table)
	})
	return cmd
}
