package cli

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

// Platform is the service that a command operates.
type Platform struct {
	DB      *table.DB
	BaseURL string // "" if unknown
	Local   string // address at which this machine reaches a local service, "" for a table
	Data    string // data folder of a local service, "" for a table
	Table   string // name of the table
	Env     config.Config
}

// Platform opens the target: the service that runs on the data folder, or the
// table in TABLE_NAME (at AWS_ENDPOINT_URL_DYNAMODB, or in AWS itself).
func (c *CLI) Platform(ctx context.Context) (Platform, error) {
	if to := c.Target(); to.Table != "" {
		db, err := table.Open(ctx, table.Options{Table: to.Table, Endpoint: to.endpoint, Load: AWSConfig})
		return Platform{DB: db, BaseURL: c.Env.BaseURL, Table: to.Table, Env: c.Env}, err
	}
	running, err := c.Find(ctx)
	if err != nil {
		return Platform{}, err
	}
	db, err := table.Open(ctx, table.Options{Table: running.Table, Endpoint: running.Endpoint})
	return Platform{db, running.BaseURL, running.Reach(), running.Data, running.Table, c.Env}, err
}

// Find finds the service on the data folder. If none runs on the default one, it finds
// the only other service of this user, says which, and makes its data folder c.Data.
func (c *CLI) Find(ctx context.Context) (folder.Running, error) {
	running, err := folder.Find(ctx, c.Data)
	if !errors.Is(err, folder.ErrNotRunning) || c.DataGiven || c.Data != folder.Default {
		return running, err
	}
	switch others := folder.Registered(ctx, c.Registry); len(others) {
	case 0:
		return running, err
	case 1:
		running, c.Data = others[0], others[0].Data
		fmt.Fprintf(c.Err, "svc: using the service on %s\n", Printable(c.Data))
		return running, nil
	default:
		var names []string
		for _, other := range others {
			names = append(names, "--data "+other.Data)
		}
		return running, Usagef("several services run; choose one: %s", strings.Join(names, ", "))
	}
}

// AWSConfig finds credentials and region as other AWS tools do.
func AWSConfig(ctx context.Context) (aws.Config, error) { return awsconfig.LoadDefaultConfig(ctx) }

// Address returns the service's address, or an error if it is unknown.
func (p Platform) Address() (string, error) {
	if p.BaseURL == "" {
		return "", errors.New("the service's address is not known; set BASE_URL")
	}
	return p.BaseURL, nil
}

// Tenant finds a tenant by its slug. If the tenant is being deleted, the error
// is tenant.ErrDeleting.
func (p Platform) Tenant(ctx context.Context, slug string) (tenant.Tenant, table.Tenant, error) {
	found, err := tenant.Store{DB: p.DB}.BySlug(ctx, slug)
	if errors.Is(err, fault.NotFound()) {
		return tenant.Tenant{}, table.Tenant{}, fmt.Errorf("there is no tenant %q%s", slug, Nearest(slug, p.slugs(ctx)))
	}
	if err == nil && found.DeletingAt != "" {
		err = tenant.ErrDeleting
	}
	return found, p.DB.Tenant(found.ID), err
}

// slugs returns the slugs of all tenants, nil after an error.
func (p Platform) slugs(ctx context.Context) (slugs []string) {
	found, _ := tenant.Store{DB: p.DB}.List(ctx)
	for _, one := range found {
		slugs = append(slugs, one.Slug)
	}
	return slugs
}

// At combines platform and tenant, for commands about a tenant's data.
func (c *CLI) At(ctx context.Context, slug string) (Platform, table.Tenant, error) {
	p, err := c.Platform(ctx)
	if err != nil {
		return Platform{}, table.Tenant{}, err
	}
	_, t, err := p.Tenant(ctx, slug)
	return p, t, err
}

// On returns the code of a command that needs a service: it calls f with the
// opened target.
func (c *CLI) On(f func(context.Context, Platform, []string) error) func(*cobra.Command, []string) error {
	return Act(func(ctx context.Context, args []string) error {
		p, err := c.Platform(ctx)
		if err != nil {
			return err
		}
		return f(ctx, p, args)
	})
}

// In returns the code of a command whose first argument is a tenant's slug.
func (c *CLI) In(f func(context.Context, Platform, table.Tenant, []string) error) func(*cobra.Command, []string) error {
	return c.On(func(ctx context.Context, p Platform, args []string) error {
		_, t, err := p.Tenant(ctx, args[0])
		if err != nil {
			return err
		}
		return f(ctx, p, t, args)
	})
}

// By returns the author of a command's changes.
func By() audit.By {
	who := "svc"
	if u, err := user.Current(); err == nil && u.Username != "" {
		who = "svc:" + u.Username
	}
	return audit.By{Who: who, At: time.Now()}
}

// AudienceOf parses an audience as people write it.
func AudienceOf(word string) (authz.Audience, error) {
	switch word {
	case "dashboard", "operator":
		return authz.Dashboard, nil
	case "rider", "driver":
		return authz.Audience(word), nil
	}
	return "", Usagef("audience %q: expected dashboard, rider or driver", word)
}

// AppendToAudit writes an entry to the audit log of each tenant in tenants, one
// transaction for each. Commands use it for changes that no other package
// records, such as a new signing key.
func (p Platform) AppendToAudit(ctx context.Context, tenants []string, what, subject string, before, after any) error {
	for _, id := range tenants {
		t := p.DB.Tenant(id)
		tx := t.Write()
		audit.Append(tx, t, By(), what, subject, before, after)
		if err := table.Retry(ctx, tx.Commit); err != nil {
			return fmt.Errorf("audit log: %w", err)
		}
	}
	return nil
}

// Everywhere returns the ids of all tenants that are not being deleted.
func (p Platform) Everywhere(ctx context.Context) ([]string, error) {
	all, err := tenant.Store{DB: p.DB}.List(ctx)
	var out []string
	for _, n := range all {
		if n.DeletingAt == "" {
			out = append(out, n.ID)
		}
	}
	return out, err
}
