package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/spf13/cobra"

	"svc/pkg/access/authz"
	"svc/pkg/base/config"
	"svc/pkg/base/fault"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
	"svc/pkg/local/folder"
)

// platform is the service that a command operates.
type platform struct {
	db      *table.DB
	baseURL string // "" if unknown
	local   string // address at which this machine reaches a local service, "" for a table
	data    string // data folder of a local service, "" for a table
	table   string // name of the table
	env     config.Config
}

// platform opens the target: the service that runs on the data folder, or the
// table in TABLE_NAME (at AWS_ENDPOINT_URL_DYNAMODB, or in AWS itself).
func (c *cli) platform(ctx context.Context) (platform, error) {
	if to := c.target(); to.table != "" {
		db, err := table.Open(ctx, table.Options{Table: to.table, Endpoint: to.endpoint, Load: awsConfig})
		return platform{db: db, baseURL: c.env.BaseURL, table: to.table, env: c.env}, err
	}
	running, err := c.find(ctx)
	if err != nil {
		return platform{}, err
	}
	db, err := table.Open(ctx, table.Options{Table: running.Table, Endpoint: running.Endpoint})
	return platform{db, running.BaseURL, running.Reach(), running.Data, running.Table, c.env}, err
}

// find finds the service on the data folder. If none runs on the default one, it finds
// the only other service of this user, says which, and makes its data folder c.data.
func (c *cli) find(ctx context.Context) (folder.Running, error) {
	running, err := folder.Find(ctx, c.data)
	if !errors.Is(err, folder.ErrNotRunning) || c.dataGiven || c.data != folder.Default {
		return running, err
	}
	switch others := folder.Registered(ctx, c.registry); len(others) {
	case 0:
		return running, err
	case 1:
		running, c.data = others[0], others[0].Data
		fmt.Fprintf(c.err, "svc: using the service on %s\n", printable(c.data))
		return running, nil
	default:
		var names []string
		for _, other := range others {
			names = append(names, "--data "+other.Data)
		}
		return running, usagef("several services run; choose one: %s", strings.Join(names, ", "))
	}
}

// awsConfig finds credentials and region as other AWS tools do.
func awsConfig(ctx context.Context) (aws.Config, error) { return awsconfig.LoadDefaultConfig(ctx) }

// address returns the service's address, or an error if it is unknown.
func (p platform) address() (string, error) {
	if p.baseURL == "" {
		return "", errors.New("the service's address is not known; set BASE_URL")
	}
	return p.baseURL, nil
}

// tenant finds a tenant by its slug. If the tenant is being deleted, the error
// is tenant.ErrDeleting.
func (p platform) tenant(ctx context.Context, slug string) (tenant.Tenant, table.Tenant, error) {
	found, err := tenant.Store{DB: p.db}.BySlug(ctx, slug)
	if errors.Is(err, fault.NotFound()) {
		return tenant.Tenant{}, table.Tenant{}, fmt.Errorf("there is no tenant %q%s", slug, nearest(slug, p.slugs(ctx)))
	}
	if err == nil && found.DeletingAt != "" {
		err = tenant.ErrDeleting
	}
	return found, p.db.Tenant(found.ID), err
}

// slugs returns the slugs of all tenants, nil after an error.
func (p platform) slugs(ctx context.Context) (slugs []string) {
	found, _ := tenant.Store{DB: p.db}.List(ctx)
	for _, one := range found {
		slugs = append(slugs, one.Slug)
	}
	return slugs
}

// at combines platform and tenant, for commands about a tenant's data.
func (c *cli) at(ctx context.Context, slug string) (platform, table.Tenant, error) {
	p, err := c.platform(ctx)
	if err != nil {
		return platform{}, table.Tenant{}, err
	}
	_, t, err := p.tenant(ctx, slug)
	return p, t, err
}

// on returns the code of a command that needs a service: it calls f with the
// opened target.
func (c *cli) on(f func(context.Context, platform, []string) error) func(*cobra.Command, []string) error {
	return act(func(ctx context.Context, args []string) error {
		p, err := c.platform(ctx)
		if err != nil {
			return err
		}
		return f(ctx, p, args)
	})
}

// in returns the code of a command whose first argument is a tenant's slug.
func (c *cli) in(f func(context.Context, platform, table.Tenant, []string) error) func(*cobra.Command, []string) error {
	return c.on(func(ctx context.Context, p platform, args []string) error {
		_, t, err := p.tenant(ctx, args[0])
		if err != nil {
			return err
		}
		return f(ctx, p, t, args)
	})
}

// by returns the author of a command's changes.
func by() audit.By {
	who := "svc"
	if u, err := user.Current(); err == nil && u.Username != "" {
		who = "svc:" + u.Username
	}
	return audit.By{Who: who, At: time.Now()}
}

// audienceOf parses an audience as people write it.
func audienceOf(word string) (authz.Audience, error) {
	switch word {
	case "dashboard", "operator":
		return authz.Dashboard, nil
	case "rider", "driver":
		return authz.Audience(word), nil
	}
	return "", usagef("audience %q: expected dashboard, rider or driver", word)
}

// appendToAudit writes an entry to the audit log of each tenant in tenants, one
// transaction for each. Commands use it for changes that no other package
// records, such as a new signing key.
func (p platform) appendToAudit(ctx context.Context, tenants []string, what, subject string, before, after any) error {
	for _, id := range tenants {
		t := p.db.Tenant(id)
		tx := t.Write()
		audit.Append(tx, t, by(), what, subject, before, after)
		if err := table.Retry(ctx, tx.Commit); err != nil {
			return fmt.Errorf("audit log: %w", err)
		}
	}
	return nil
}

// everywhere returns the ids of all tenants that are not being deleted.
func (p platform) everywhere(ctx context.Context) ([]string, error) {
	all, err := tenant.Store{DB: p.db}.List(ctx)
	var out []string
	for _, n := range all {
		if n.DeletingAt == "" {
			out = append(out, n.ID)
		}
	}
	return out, err
}
