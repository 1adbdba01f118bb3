package fleet

import (
	"context"

	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/base/codec"
	"svc/pkg/base/config"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/external"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
)

// Rows returns the endpoints of people. db stores one-time links.
func Rows(db *table.DB) []api.Row {
	h := handler{db}
	readDrivers := authz.Operators("tenant.drivers:read", "VIEW_DRIVERS")
	drivers := authz.Operators("tenant.drivers:write", "CREATE_DRIVERS")
	readCustomers := authz.Operators("tenant.customers:read", "VIEW_CUSTOMERS")
	customers := authz.Operators("tenant.customers:write", "CREATE_CUSTOMERS")
	company := api.Needs(func(t table.Tenant, p api.Peek) []table.Key {
		if id := p.Path("id"); ids.Valid(ids.Customer, id) {
			return []table.Key{tenant.Key(t), customer.Key(t, id)}
		}
		return []table.Key{tenant.Key(t)}
	})
	invites := api.Confirm("The person gets an account of the company, and a mail with a link to set a password.")
	changes := api.Confirm("It changes what is known of a person. `disabled` ends the person's access at once.")
	aDriver, aCustomer := api.One(ids.Driver, driver.Key), api.One(ids.Customer, customer.Key)
	located := api.Needs(func(t table.Tenant, p api.Peek) []table.Key {
		if id := p.Path("id"); ids.Valid(ids.Driver, id) {
			return []table.Key{driver.Key(t, id), driver.LocationKey(t, id)}
		}
		return nil
	})
	extension, versioned := api.Extension(), api.Versioned()
	const invited = "If the service can mail, the person gets a link to set a password, which is valid for 24 hours. " +
		"Later the sign-in page mails a new one. A mail address has one account in the company."
	const changed = "Only the given members change; `null` clears one. While `disabled` is true, the account cannot sign " +
		"in, and all its tokens are invalid at once. The mail address is changed with the command line only."
	return append([]api.Row{
		api.Get("/api/v1/drivers/{id}", "svc_get_driver", readDrivers, getDriver, aDriver, located, extension, versioned,
			api.Tag("Drivers"), api.Summary("Read a driver"), api.Text("Also one who is disabled.")),
		api.Get("/api/v1/drivers/external/{externalId}", "svc_get_driver_by_external_id", readDrivers,
			external.By(driver.Store.External(), getDriver, func(id string) *driverInput { return &driverInput{id} }),
			extension, versioned, api.Tag("Drivers"),
			api.Summary("Read a driver by an identifier of another system"), external.Text()),
		api.Post("/api/v1/drivers", "svc_invite_driver", drivers, h.inviteDriver, api.Created(), company, extension,
			versioned, invites, api.Tag("Drivers"), api.Summary("Invite a driver"), api.Text(invited)),
		api.Patch("/api/v1/drivers/{id}", "svc_update_driver", drivers, patchDriver, aDriver, extension, versioned, changes,
			api.Tag("Drivers"), api.Summary("Change, disable or enable a driver"), api.Text(changed)),
		api.Get("/api/v1/customers/{id}", "svc_get_customer", readCustomers, getCustomer, aCustomer, extension, versioned,
			api.Tag("Customers"), api.Summary("Read a customer"), api.Text("Also one who is disabled.")),
		api.Get("/api/v1/customers/external/{externalId}", "svc_get_customer_by_external_id", readCustomers,
			external.By(customer.Store.External(), getCustomer, func(id string) *customerInput { return &customerInput{id} }),
			extension, versioned, api.Tag("Customers"),
			api.Summary("Read a customer by an identifier of another system"), external.Text()),
		api.Post("/api/v1/customers", "svc_invite_customer", customers, h.inviteCustomer, api.Created(), company, extension,
			versioned, invites, api.Tag("Customers"), api.Summary("Invite a customer"), api.Text(invited)),
		api.Patch("/api/v1/customers/{id}", "svc_update_customer", customers, patchCustomer, aCustomer, company, extension,
			versioned, changes, api.Tag("Customers"), api.Summary("Change, disable or enable a customer"), api.Text(changed)),
	}, documentRows(readDrivers, drivers, aDriver)...)
}

type handler struct{ db *table.DB }

type driverInput struct {
	ID string `path:"id" doc:"Identifier of the driver." example:"drv_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
}

type customerInput struct {
	ID string `path:"id" doc:"Identifier of the customer." example:"cus_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
}

func getDriver(ctx context.Context, c *api.Caller, in *driverInput) (*ManagedDriver, error) {
	items, err := c.Items(ctx, driver.Key(c.Tenant, in.ID), driver.LocationKey(c.Tenant, in.ID))
	if err != nil {
		return nil, err
	}
	r, err := driver.FromItem(items[0])
	if err != nil {
		return nil, err
	}
	c.Tagged(driverEditOf(r))
	if err := r.Locate(items[1]); err != nil {
		return nil, err
	}
	out := shownDriver(r)
	return &out, nil
}

type inviteDriverInput struct{ Body NewDriver }

func (h handler) inviteDriver(ctx context.Context, c *api.Caller, in *inviteDriverInput) (*ManagedDriver, error) {
	r := driver.Record{Driver: driver.Driver{Email: in.Body.Email, Status: driver.Offline}}
	err := in.Body.DriverEdit.set(&r)
	if err == nil {
		err = driver.Store.Prepare(&r, c.By())
	}
	if err != nil {
		return nil, api.InBody(err)
	}
	c.Tagged(driverEditOf(r))
	out := shownDriver(r)
	account := login.Link{Audience: authz.Driver, TenantID: c.Tenant.ID(), Actor: r.ID, Email: r.Email}
	return invite(ctx, c, h.db, account, &out, r.Disabled, func(ctx context.Context, tx *table.Tx, shards int) error {
		driver.Store.Add(tx, c.Tenant, c.By(), r, "", shards)
		return driver.Store.Claim(ctx, tx, c.Tenant, r)
	})
}

type patchDriverInput struct {
	ID   string `path:"id" doc:"Identifier of the driver." example:"drv_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	Body api.Changes[DriverEdit]
}

func patchDriver(ctx context.Context, c *api.Caller, in *patchDriverInput) (*ManagedDriver, error) {
	change := driver.Store.Changing(c.Tenant, c.By(), in.ID, func(r *driver.Record) error {
		e := driverEditOf(*r)
		if err := in.Body.Apply(&e); err != nil {
			return err
		}
		return e.set(r)
	})
	return api.EditState(ctx, c, change, shownDriver, func(r driver.Record) any { return driverEditOf(r) })
}

func getCustomer(ctx context.Context, c *api.Caller, in *customerInput) (*ManagedCustomer, error) {
	it, err := c.Item(ctx, customer.Key(c.Tenant, in.ID))
	if err != nil {
		return nil, err
	}
	r, err := customer.FromItem(it)
	if err != nil {
		return nil, err
	}
	c.Tagged(customerEditOf(r))
	out := shownCustomer(r)
	return &out, nil
}

type inviteCustomerInput struct{ Body NewCustomer }

func (h handler) inviteCustomer(ctx context.Context, c *api.Caller, in *inviteCustomerInput) (*ManagedCustomer, error) {
	r := customer.Record{Customer: customer.Customer{Email: in.Body.Email}}
	if err := in.Body.CustomerEdit.set(&r); err != nil {
		return nil, api.InBody(err)
	}
	if err := readPhone(ctx, c, &r); err != nil {
		return nil, err
	}
	if err := customer.Store.Prepare(&r, c.By()); err != nil {
		return nil, api.InBody(err)
	}
	c.Tagged(customerEditOf(r))
	out := shownCustomer(r)
	account := login.Link{Audience: authz.Rider, TenantID: c.Tenant.ID(), Actor: r.ID, Email: r.Email}
	return invite(ctx, c, h.db, account, &out, r.Disabled, func(ctx context.Context, tx *table.Tx, shards int) error {
		customer.Store.Add(tx, c.Tenant, c.By(), r, "", shards)
		customer.Share(tx, c.Tenant, r)
		return customer.Store.Claim(ctx, tx, c.Tenant, r)
	})
}

// readPhone sets the number that the customer's phone stands for.
func readPhone(ctx context.Context, c *api.Caller, r *customer.Record) error {
	if r.Number = nil; r.Phone == nil {
		return nil
	}
	company, err := tenant.Kind.Get(ctx, c.Item, tenant.Key(c.Tenant))
	r.Number = c.Phone(*r.Phone, company.Country)
	return err
}

type patchCustomerInput struct {
	ID   string `path:"id" doc:"Identifier of the customer." example:"cus_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	Body api.Changes[CustomerEdit]
}

func patchCustomer(ctx context.Context, c *api.Caller, in *patchCustomerInput) (*ManagedCustomer, error) {
	change := customer.Store.Changing(c.Tenant, c.By(), in.ID, func(r *customer.Record) error {
		e, was := customerEditOf(*r), codec.OrZero(r.Phone)
		if err := in.Body.Apply(&e); err != nil {
			return err
		}
		if err := e.set(r); err != nil || codec.OrZero(r.Phone) == was {
			return err
		}
		return readPhone(ctx, c, r)
	})
	follow := change.Also
	change.Also = func(ctx context.Context, tx *table.Tx, was, now customer.Record) error {
		if codec.OrZero(was.Phone) != codec.OrZero(now.Phone) {
			customer.Share(tx, c.Tenant, now)
		}
		return follow(ctx, tx, was, now)
	}
	return api.EditState(ctx, c, change, shownCustomer, func(r customer.Record) any { return customerEditOf(r) })
}

// invite commits a new account with a link to set its password, and mails the link
// to the account's address. A disabled account, one without an address, and one of a
// service that cannot mail, gets no link.
func invite[Out any](
	ctx context.Context, c *api.Caller, db *table.DB, account login.Link, out *Out, disabled bool,
	add func(ctx context.Context, tx *table.Tx, writeShards int) error,
) (*Out, error) {
	company, err := tenant.Kind.Get(ctx, c.Item, tenant.Key(c.Tenant))
	if err != nil {
		return nil, err
	}
	shards, err := c.WriteShards(ctx)
	if err != nil {
		return nil, err
	}
	link, mails := "", c.Mails() && !disabled && account.Email != ""
	out, err = api.Make(ctx, c, out, func(tx *table.Tx) error {
		if err := add(ctx, tx, shards); err != nil {
			return err
		}
		if mails {
			link = login.AddLink(tx, db.Platform("LINK"), account, login.LinkHints(account.Audience, company.Slug),
				c.Now.Add(login.LinkLife))
			return c.CountMail(ctx, tx, config.MailInvitation)
		}
		return nil
	})
	if err != nil || !mails {
		return out, err
	}
	base := c.BaseURL()
	if company.CustomDomain != "" {
		base = "https://" + company.CustomDomain
	}
	c.Mail(ctx, account.Email, company.Name+": your account", "You have an account at "+company.Name+
		".\n\nSet your password with this link. It is valid for 24 hours and works once:\n\n"+base+link+
		"\n\nIf you did not expect this, ignore it: nobody can sign in until a password is set.\n")
	return out, nil
}

var errMost = fault.InvalidState("A driver has at most %d documents. Change one of them.", mostDocuments)
