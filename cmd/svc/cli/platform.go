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

// Platform is the service that a command operates: a local service (svc dev), or a table
// in DynamoDB.
type Platform struct {
	DB      *table.DB
	BaseURL string // "" if unknown
	Local   string // address of a local service on this machine, "" for a table in DynamoDB
	Data    string // data folder of a local service, "" for a table in DynamoDB
	Table   string // name of the DynamoDB table
	Env     config.Config
}

// Platform opens the service that the command operates: the local service on the data
// folder or, if TABLE_NAME is set, that table (at AWS_ENDPOINT_URL_DYNAMODB, or in AWS).
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

// Find finds the local service that runs on the data folder. If no service runs on the
// default folder, and this user runs exactly one service on another folder, Find returns
// that service, prints its folder, and sets c.Data to the folder.
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

// At opens the service (see Platform) and finds the tenant with the slug.
func (c *CLI) At(ctx context.Context, slug string) (Platform, table.Tenant, error) {
	p, err := c.Platform(ctx)
	if err != nil {
		return Platform{}, table.Tenant{}, err
	}
	_, t, err := p.Tenant(ctx, slug)
	return p, t, err
}

// On returns the RunE function of a command that needs a service: it opens the service
// and calls f with it.
func (c *CLI) On(f func(context.Context, Platform, []string) error) func(*cobra.Command, []string) error {
	return Act(func(ctx context.Context, args []string) error {
		p, err := c.Platform(ctx)
		if err != nil {
			return err
		}
		return f(ctx, p, args)
	})
}

// In returns the RunE function of a command whose first argument is the slug of a tenant:
// it opens the service, finds the tenant and calls f with both.
func (c *CLI) In(f func(context.Context, Platform, table.Tenant, []string) error) func(*cobra.Command, []string) error {
	return c.On(func(ctx context.Context, p Platform, args []string) error {
		_, t, err := p.Tenant(ctx, args[0])
		if err != nil {
			return err
		}
		return f(ctx, p, t, args)
	})
}

// By returns the author of a command's changes, for the audit log: "svc:" and the name of
// the user on this machine.
func By() audit.By {
	who := "svc"
	if u, err := user.Current(); err == nil && u.Username != "" {
		who = "svc:" + u.Username
	}
	return audit.By{Who: who, At: time.Now()}
}

// AudienceOf parses an audience: dashboard (also written operator), rider or driver.
func AudienceOf(word string) (authz.Audience, error) {
	switch word {
	case "dashboard", "operator":
		return authz.Dashboard, nil
	case "rider", "driver":
		return authz.Audience(word), nil
	}
	return "", Usagef("audience %q: expected dashboard, rider or driver", word)
}

// AppendToAudit writes an entry to the audit log of each tenant in tenants (ids), one
// transaction for each. Commands use it for changes that no other package records, such
// as a new signing key. what names the change, and subject is the id of what was changed.
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
