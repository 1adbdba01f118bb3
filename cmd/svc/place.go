package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/spf13/cobra"

	"svc/pkg/app"
	"svc/pkg/audit"
	"svc/pkg/authz"
	"svc/pkg/customer"
	"svc/pkg/driver"
	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/local"
	"svc/pkg/person"
	"svc/pkg/signing"
	"svc/pkg/table"
	"svc/pkg/tenant"
)

// place is the service that a command is about.
type place struct {
	db      *table.DB
	baseURL string // "" where it is not known
	data    string // data folder of a local service, "" for another
}

// place finds the service: the one that runs on the data folder, or the table
// that TABLE_NAME names (at AWS_ENDPOINT_URL_DYNAMODB, or AWS itself).
func (c *cli) place(ctx context.Context) (place, error) {
	if name := os.Getenv("TABLE_NAME"); name != "" && c.data == local.DefaultData {
		db, err := table.Open(ctx, table.Options{Table: name, Endpoint: os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"), Load: awsConfig})
		return place{db: db, baseURL: strings.TrimSuffix(os.Getenv("BASE_URL"), "/")}, err
	}
	running, err := local.FindRunning(ctx, c.data)
	if err != nil {
		return place{}, err
	}
	db, err := table.Open(ctx, table.Options{Table: running.Table, Endpoint: running.Endpoint})
	return place{db, running.BaseURL, running.Data}, err
}

// awsConfig finds credentials and region as every AWS tool does.
func awsConfig(ctx context.Context) (aws.Config, error) { return config.LoadDefaultConfig(ctx) }

// address is the service's address, which some commands cannot do without.
func (p place) address() (string, error) {
	if p.baseURL == "" {
		return "", errors.New("the service's address is not known; set BASE_URL")
	}
	return p.baseURL, nil
}

// keys gives the signing keys, sealed as the service seals them.
func (p place) keys(ctx context.Context) (*signing.Keys, error) {
	var sealer signing.Sealer
	var err error
	if p.data != "" {
		sealer, err = signing.FileSealer(filepath.Join(p.data, "sealing.key"))
	} else {
		sealer, err = app.SealerFromEnvironment(ctx, awsConfig)
	}
	if err != nil {
		return nil, err
	}
	return signing.Open(p.db, signing.Options{Issuer: p.baseURL, Sealer: sealer}), nil
}

// tenant finds a tenant by its slug.
func (p place) tenant(ctx context.Context, slug string) (tenant.Tenant, table.Tenant, error) {
	found, err := tenant.Store{DB: p.db}.BySlug(ctx, slug)
	if errors.Is(err, fault.NotFound()) {
		return tenant.Tenant{}, table.Tenant{}, fmt.Errorf("there is no tenant %q", slug)
	}
	return found, p.db.Tenant(found.ID), err
}

// at is place and tenant in one, for the many commands about a tenant's data.
func (c *cli) at(ctx context.Context, slug string) (place, table.Tenant, error) {
	p, err := c.place(ctx)
	if err != nil {
		return place{}, table.Tenant{}, err
	}
	_, t, err := p.tenant(ctx, slug)
	return p, t, err
}

// in is the code of a command whose first argument is a tenant's slug.
func (c *cli) in(f func(ctx context.Context, t table.Tenant, args []string) error) func(*cobra.Command, []string) error {
	return act(func(ctx context.Context, args []string) error {
		_, t, err := c.at(ctx, args[0])
		if err != nil {
			return err
		}
		return f(ctx, t, args)
	})
}

// operator, driver and rider find a person by mail address or id.
func (p place) operator(ctx context.Context, name string) (person.Person, error) {
	store := person.Store{DB: p.db}
	find := store.ByEmail
	if ids.Valid(ids.Person, name) {
		find = store.ByID
	}
	one, err := find(ctx, name)
	return one, missing(err, "operator", name)
}

func findDriver(ctx context.Context, t table.Tenant, name string) (driver.Record, error) {
	find := driver.ByEmail
	if ids.Valid(ids.Driver, name) {
		find = driver.ByID
	}
	one, err := find(ctx, t, name)
	return one, missing(err, "driver", name)
}

func findRider(ctx context.Context, t table.Tenant, name string) (customer.Record, error) {
	find := customer.ByEmail
	if ids.Valid(ids.Customer, name) {
		find = customer.ByID
	}
	one, err := find(ctx, t, name)
	return one, missing(err, "rider", name)
}

// missing gives a NotFound in words that say what is missing.
func missing(err error, what, name string) error {
	if errors.Is(err, fault.NotFound()) {
		return fmt.Errorf("there is no %s %q", what, name)
	}
	return err
}

// by is who changes something by a command.
func by() audit.By {
	who := "svc"
	if u, err := user.Current(); err == nil && u.Username != "" {
		who = "svc:" + u.Username
	}
	return audit.By{Who: who, At: time.Now()}
}

// audienceOf reads an audience as people write it.
func audienceOf(word string) (authz.Audience, error) {
	switch word {
	case "dashboard", "operator":
		return authz.Dashboard, nil
	case "rider", "driver":
		return authz.Audience(word), nil
	}
	return "", usagef("audience %q is none of dashboard, rider, driver", word)
}
