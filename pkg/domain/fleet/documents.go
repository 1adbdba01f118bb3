package fleet

import (
	"context"
	"reflect"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/account"
	"svc/pkg/domain/driver"
	"svc/pkg/edge/api"
)

// mostDocuments is the maximum number of a driver's documents.
const mostDocuments = 50

func documentRows(read, change authz.Policy, aDriver api.Option) []api.Row {
	tag, extension := api.Tag("Drivers"), api.Extension()
	confirm := api.Confirm("The company and the driver rely on it.")
	return []api.Row{
		api.Get("/api/v1/drivers/{id}/documents", "svc_list_driver_documents", read, listDocuments, aDriver, tag, extension,
			api.Summary("List a driver's documents"), api.Text("Newest first.")),
		api.Post("/api/v1/drivers/{id}/documents", "svc_create_driver_document", change, createDocument, api.Created(),
			aDriver, api.Early(readDocuments), tag, extension, api.Versioned(), confirm,
			api.Summary("Add a document of a driver"),
			api.Text("Only the last four characters of the document's number are kept. A driver has at most 50 documents.")),
		api.Patch("/api/v1/drivers/{id}/documents/{document}", "svc_update_driver_document", change, patchDocument,
			api.Needs(needDocument), tag, extension, api.Versioned(), confirm, api.Summary("Change a document of a driver"),
			api.Text("Only the given members change.")),
		api.Get("/api/v1/me/documents", "svc_list_my_documents", authz.Drivers("driver.documents:read"), myDocuments,
			api.Tag("Me"), extension, api.Summary("List my documents"), api.Text("What the company knows of the driver's "+
				"documents, newest first.")),
	}
}

// DriverDocument is a driver's document, such as a licence.
type DriverDocument struct {
	ID string `json:"id" doc:"Identifier of the document."`
	DriverDocumentEdit
	Expired   bool   `json:"expired" doc:"Whether expiresOn is over, by UTC."`
	CreatedAt string `json:"createdAt" format:"date-time" doc:"When it was added."`
	UpdatedAt string `json:"updatedAt" format:"date-time" doc:"When it last changed."`
}

// DriverDocumentEdit has the members of a document that operators decide.
type DriverDocumentEdit struct {
	Kind        string  `json:"kind" enum:"DRIVING_LICENCE,IDENTITY,INSURANCE,VEHICLE_REGISTRATION,OTHER" doc:"What the document is."`
	NumberLast4 *string `json:"numberLast4,omitempty" nullable:"true" pattern:"^[0-9A-Za-z]{1,4}$" patternDescription:"one to four letters or digits" example:"4711" doc:"The last characters of the document's number. The number itself is never stored."`
	ExpiresOn   *string `json:"expiresOn,omitempty" nullable:"true" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}$" patternDescription:"a date, as in 2031-04-30" example:"2031-04-30" doc:"The last day on which it is valid."`
	State       *string `json:"state,omitempty" enum:"PENDING,APPROVED,REJECTED" default:"PENDING" doc:"What the company says of it."`
}

// Key returns the key of a driver's document.
func Key(t table.Tenant, driverID, id string) table.Key {
	return t.Key("DRIVER", driverID, "DOCUMENTS", "DOCUMENT#"+id)
}

func needDocument(t table.Tenant, p api.Peek) []table.Key {
	if !ids.Valid(ids.Driver, p.Path("id")) || !ids.Valid(ids.Document, p.Path("document")) {
		return nil
	}
	return []table.Key{Key(t, p.Path("id"), p.Path("document"))}
}

// DocumentKind stores a driver's documents.
var DocumentKind = table.Kind[DriverDocument]{Type: "document", Personal: "of a driver", Erasure: "deletes",
	Row: func(t table.Tenant, driverID string, d DriverDocument) table.Item {
		d.Expired = false
		return table.Item{Key: Key(t, driverID, d.ID), Version: 1, Doc: d}
	}}

// at returns the document as it is shown at a time.
func (d DriverDocument) at(now time.Time) DriverDocument {
	d.Expired = d.ExpiresOn != nil && *d.ExpiresOn < now.UTC().Format(time.DateOnly)
	return d
}

// normalize fills in a state and checks the date.
func (d *DriverDocument) normalize() error {
	if d.State == nil {
		pending := "PENDING"
		d.State = &pending
	}
	if d.ExpiresOn != nil {
		if _, err := time.Parse(time.DateOnly, *d.ExpiresOn); err != nil {
			return fault.Field("expiresOn", "expected a date, as in 2031-04-30")
		}
	}
	return nil
}

// prepare completes a new document.
func (d *DriverDocument) prepare(by audit.By) error {
	if d.ID == "" {
		d.ID = ids.New(ids.Document, by.At)
	}
	d.CreatedAt = timestamp.Format(by.At)
	d.UpdatedAt = d.CreatedAt
	return d.normalize()
}

// AddDocument adds a document of a driver. It generates the ID if it is empty.
func AddDocument(
	ctx context.Context, t table.Tenant, by audit.By, driverID string, d DriverDocument,
) (DriverDocument, error) {
	if err := d.prepare(by); err != nil {
		return DriverDocument{}, err
	}
	return d, audit.Create(ctx, t, by, "document.add", driverID, DocumentKind.Item(t, driverID, d), d)
}

// storedDocuments reads a driver's documents, newest first.
//
// Access pattern: T#t#DRIVER#d#DOCUMENTS backward, strongly consistent.
func storedDocuments(ctx context.Context, t table.Tenant, driverID string) ([]DriverDocument, error) {
	return DocumentKind.List(ctx, t.Handle, Key(t, driverID, "").PK, table.Query{Prefix: "DOCUMENT#", Backward: true,
		Limit: mostDocuments, Consistent: true, Fill: true})
}

// documents returns a driver's documents as they are now.
func documents(ctx context.Context, t table.Tenant, driverID string, now time.Time) ([]DriverDocument, error) {
	all, err := storedDocuments(ctx, t, driverID)
	for i := range all {
		all[i] = all[i].at(now)
	}
	return all, err
}

func myDocuments(ctx context.Context, c *api.Caller, _ *struct{}) (*api.Items[DriverDocument], error) {
	all, err := documents(ctx, c.Tenant, c.Actor.Subject, c.Now)
	return &api.Items[DriverDocument]{Items: all}, err
}

func listDocuments(ctx context.Context, c *api.Caller, in *driverInput) (*api.Items[DriverDocument], error) {
	all, err := documents(ctx, c.Tenant, in.ID, c.Now)
	if err != nil {
		return nil, err
	}
	_, err = known(ctx, c, in.ID)
	return &api.Items[DriverDocument]{Items: all}, err
}

// known returns the driver's item, or fault.NotFound if there is none.
func known(ctx context.Context, c *api.Caller, id string) (table.Item, error) {
	it, err := c.Item(ctx, driver.Key(c.Tenant, id))
	if err == nil && !it.Found() {
		err = fault.NotFound()
	}
	return it, err
}

type createDocumentInput struct {
	ID   string `path:"id" doc:"Identifier of the driver." example:"drv_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	Body DriverDocumentEdit
}

func readDocuments(ctx context.Context, t table.Tenant, p api.Peek) ([]DriverDocument, error) {
	return storedDocuments(ctx, t, p.Path("id"))
}

func createDocument(ctx context.Context, c *api.Caller, in *createDocumentInput) (*DriverDocument, error) {
	it, err := known(ctx, c, in.ID)
	if err == nil && account.Erased(it) {
		err = account.ErrErased
	}
	if err != nil {
		return nil, err
	}
	d := DriverDocument{DriverDocumentEdit: in.Body}
	if err := d.prepare(c.By()); err != nil {
		return nil, api.InBody(err)
	}
	have, err := api.EarlyOf[[]DriverDocument](ctx, c)
	if err != nil {
		return nil, err
	}
	if len(have) >= mostDocuments {
		return nil, errMost
	}
	d = d.at(c.Now)
	c.Tagged(int64(1))
	return api.Make(ctx, c, &d, func(tx *table.Tx) error {
		audit.Add(tx, c.Tenant, c.By(), "document.add", in.ID, DocumentKind.Item(c.Tenant, in.ID, d), d)
		return nil
	})
}

type patchDocumentInput struct {
	ID       string `path:"id" doc:"Identifier of the driver." example:"drv_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	Document string `path:"document" doc:"Identifier of the document." example:"doc_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	Body     api.Changes[DriverDocumentEdit]
}

func patchDocument(ctx context.Context, c *api.Caller, in *patchDocumentInput) (*DriverDocument, error) {
	if !ids.Valid(ids.Driver, in.ID) || !ids.Valid(ids.Document, in.Document) {
		return nil, fault.NotFound()
	}
	return api.Edit(ctx, c, documentChange(c.Tenant, c.By(), in.ID, in.Document, in.Body.Apply),
		func(d DriverDocument) DriverDocument { return d.at(c.Now) })
}

func documentChange(t table.Tenant, by audit.By, driverID, id string,
	edit func(*DriverDocumentEdit) error) audit.Change[DriverDocument] {
	return audit.Change[DriverDocument]{Tenant: t, By: by, What: "document.set", Subject: driverID,
		Key: Key(t, driverID, id), Kind: &DocumentKind, In: driverID,
		Edit: func(d *DriverDocument) error {
			if err := edit(&d.DriverDocumentEdit); err != nil {
				return err
			}
			return d.normalize()
		},
		Check: func(was DriverDocument, now *DriverDocument) error {
			if !reflect.DeepEqual(was, *now) {
				now.UpdatedAt = timestamp.Format(by.At)
			}
			return nil
		}}
}

// SetDocument changes a document of a driver.
func SetDocument(ctx context.Context, t table.Tenant, by audit.By, driverID, id string,
	edit func(*DriverDocumentEdit) error) (DriverDocument, error) {
	return documentChange(t, by, driverID, id, edit).Run(ctx)
}
