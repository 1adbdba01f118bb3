package privacy

import (
	"context"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

var (
	// Policy is what an operator needs who handles the requests of persons.
	Policy = authz.Operators("tenant.privacy:write", "MANAGE_PRIVACY")
	own    = authz.Both("rider.privacy:write", "driver.privacy:write")
)

const tag = "Privacy"

// freshness is how old the operator's sign-in may be when an erasure runs.
const freshness = 5 * time.Minute

// Rows returns the endpoints of requests of persons about their data.
func Rows() []api.Row {
	needs := api.One(ids.Privacy, Key)
	return []api.Row{
		api.Post("/api/v1/privacy/requests", "svc_create_privacy_request", Policy, create, api.Created(), api.Extension(),
			api.Needs(subjects), api.Tag(tag), api.Summary("Begin a person's export or erasure"),
			api.Confirm("An export makes a file with everything that is stored of the person."),
			api.Text("An `export` makes a file with everything that is stored of a rider or driver. An `erase` first looks for "+
				"what is in the way: its `status` becomes `READY`, or `BLOCKED` with `reasons`. Nothing is erased before "+
				"`POST /api/v1/privacy/requests/{id}/run`.")),
		api.Get("/api/v1/privacy/requests/{id}", "svc_get_privacy_request", Policy, get, api.Extension(), needs,
			api.Tag(tag), api.Summary("Read a request about a person's data"),
			api.Text("When an export is `DONE`, `url` is an address of the file. Each response has a new address, which is "+
				"recorded in the audit log. The file can be downloaded for 7 days.")),
		api.Post("/api/v1/privacy/requests/{id}/run", "svc_run_privacy_request", Policy.ByPeople(), run, api.Extension(), needs,
			api.Tag(tag), api.Summary("Erase a person"),
			api.Confirm("The person's name, addresses and words are erased for good. Nobody can restore them."),
			api.Text("Erases the person of a request that is `READY` or `BLOCKED`. The operator must have signed in within the "+
				"last 5 minutes. The account is disabled at once. If something is in the way, the request becomes `BLOCKED` "+
				"and can be run again. Postings, receipts, fares, times and statuses stay; coordinates keep two decimals.")),
		api.Post("/api/v1/me/privacy/requests", "svc_create_my_privacy_request", own, createOwn, api.Created(),
			api.Extension(), api.Tag(tag), api.Summary("Ask for a copy of one's data, or to be erased"),
			api.Confirm("An erasure runs after 7 days, unless the person signs in again before."),
			api.Text("An `erase` runs at `runsAt`, 7 days later. Whoever signs in before then is not erased.")),
		api.Get("/api/v1/me/privacy/requests/{id}", "svc_get_my_privacy_request", own, getOwn, api.Extension(), needs,
			api.Tag(tag), api.Summary("Read one's request about one's data"),
			api.Text("As `GET /api/v1/privacy/requests/{id}`.")),
	}
}

// subjects returns the records of the persons that a request names.
func subjects(t table.Tenant, p api.Peek) (keys []table.Key) {
	if id := p.Body("customerId"); ids.Valid(ids.Customer, id) {
		keys = append(keys, authz.ActorKey(t, authz.Rider, id))
	}
	if id := p.Body("driverId"); ids.Valid(ids.Driver, id) {
		keys = append(keys, authz.ActorKey(t, authz.Driver, id))
	}
	return keys
}

type createInput struct {
	Body struct {
		Kind       string  `json:"kind" enum:"export,erase" doc:"A copy of the person's data, or its erasure."`
		CustomerID *string `json:"customerId,omitempty" doc:"The rider." example:"cus_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
		DriverID   *string `json:"driverId,omitempty" doc:"The driver. Exactly one of customerId and driverId is required."`
	}
}

func create(ctx context.Context, c *api.Caller, in *createInput) (*PrivacyRequest, error) {
	b := in.Body
	var wrong fault.Faults
	wrong.Unless((b.CustomerID == nil) != (b.DriverID == nil), "body.customerId",
		"expected exactly one of customerId and driverId")
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	r := Record{PrivacyRequest: PrivacyRequest{Kind: b.Kind, CustomerID: b.CustomerID, DriverID: b.DriverID}}
	kind, field, whom := ids.Customer, "body.customerId", "rider"
	if r.Audience() == authz.Driver {
		kind, field, whom = ids.Driver, "body.driverId", "driver"
	}
	var it table.Item
	var err error
	if ids.Valid(kind, r.Subject()) {
		it, err = c.Item(ctx, r.subjectKey(c.Tenant))
	}
	if err != nil {
		return nil, err
	}
	if !it.Found() {
		return nil, fault.Field(field, "expected a %s of this company", whom)
	}
	if r.By, err = c.Standing(ctx); err != nil {
		return nil, err
	}
	return begin(ctx, c, r, it, nil)
}

type createOwnInput struct {
	Body struct {
		Kind string `json:"kind" enum:"export,erase" doc:"A copy of one's data, or its erasure."`
	}
}

func createOwn(ctx context.Context, c *api.Caller, in *createOwnInput) (*PrivacyRequest, error) {
	r, id := Record{PrivacyRequest: PrivacyRequest{Kind: in.Body.Kind}, Self: true}, c.Actor.Subject
	if r.CustomerID = &id; authz.Audience(c.Actor.Audience) == authz.Driver {
		r.CustomerID, r.DriverID = nil, &id
	}
	it, err := c.Item(ctx, r.subjectKey(c.Tenant))
	if err != nil {
		return nil, err
	}
	return begin(ctx, c, r, it, func(tx *table.Tx, address string) {
		if r.Kind == Erase {
			login.Leave(tx, login.Key(c.Tenant, r.Audience(), address), id)
		}
	})
}

// begin stores a new request about the person with the record.
func begin(ctx context.Context, c *api.Caller, r Record, person table.Item,
	also func(*table.Tx, string)) (*PrivacyRequest, error) {
	address, err := r.begin(person, c.Now)
	if err != nil {
		return nil, err
	}
	defer c.Begun()
	return &r.PrivacyRequest, table.Retry(ctx, func(ctx context.Context) error {
		tx := c.Tenant.Write()
		r.add(tx, c.Tenant, c.Platform, c.By())
		if also != nil {
			also(tx, address)
		}
		return c.Commit(ctx, tx, r.PrivacyRequest)
	})
}

type idInput struct {
	ID string `path:"id" doc:"Identifier of the request." example:"prv_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
}

// read returns the request with the id, and its item.
func read(ctx context.Context, c *api.Caller, id string) (table.Item, Record, error) {
	it, err := c.Item(ctx, Key(c.Tenant, id))
	if err != nil {
		return it, Record{}, err
	}
	r, err := Kind.FromItem(it)
	if err == nil && !it.Live(c.Now) {
		err = fault.NotFound()
	}
	return it, r, err
}

func get(ctx context.Context, c *api.Caller, in *idInput) (*PrivacyRequest, error) {
	_, r, err := read(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	return linked(ctx, c, r)
}

func getOwn(ctx context.Context, c *api.Caller, in *idInput) (*PrivacyRequest, error) {
	_, r, err := read(ctx, c, in.ID)
	if err == nil && (!r.Self || r.Subject() != c.Actor.Subject) {
		err = fault.NotFound()
	}
	if err != nil {
		return nil, err
	}
	return linked(ctx, c, r)
}

// linked returns the request with the address of its file.
func linked(ctx context.Context, c *api.Caller, r Record) (*PrivacyRequest, error) {
	if !r.Available(c.Now) {
		return &r.PrivacyRequest, nil
	}
	url, err := c.Link(ctx, r.File(c.Tenant), r.Subject()+".ndjson")
	if err != nil {
		return nil, err
	}
	r.URL = &url
	c.Audit("privacy.download", r.ID, map[string]any{"of": r.Subject()})
	return &r.PrivacyRequest, nil
}

func run(ctx context.Context, c *api.Caller, in *idInput) (*PrivacyRequest, error) {
	it, r, err := read(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	since, err := c.SignedIn(ctx)
	if err != nil {
		return nil, err
	}
	if c.Now.Sub(since) > freshness {
		return nil, fault.InvalidState("Sign in again: an erasure needs a sign-in of the last 5 minutes (max_age=300).")
	}
	first := true
	defer c.Begun()
	err = table.Retry(ctx, func(ctx context.Context) error {
		if !first {
			if it, err = c.Tenant.Get(ctx, it.Key); err != nil {
				return err
			}
			if r, err = Kind.FromItem(it); err != nil {
				return err
			}
		}
		first = false
		standing, err := c.Standing(ctx)
		if err != nil {
			return err
		}
		if err := r.run(standing, c.Now); err != nil {
			return err
		}
		tx := c.Tenant.Write()
		r.runs(tx, c.Tenant, c.Platform, c.By())
		return c.Commit(ctx, tx, r.PrivacyRequest)
	})
	return &r.PrivacyRequest, err
}
