package driver

import (
	"context"
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/data/table"
)

// DocumentsOf returns the partition of a driver's documents.
func DocumentsOf(t table.Tenant, id string) string { return t.Partition("DRIVER", id, "DOCUMENTS") }

// Document has the fields of a driver's document that decide whether the driver may go
// online. pkg/domain/fleet owns the documents and the values of the fields.
type Document struct {
	Kind      string  `json:"kind"`
	ExpiresOn *string `json:"expiresOn"`
	State     *string `json:"state"`
}

// mostDocuments bounds the read of a driver's documents.
const mostDocuments = 100

// licensed returns a 409 if all driving licences among the driver's documents are invalid:
// each is rejected, or has expired by the date in UTC. A driver without any driving licence
// among the documents passes.
func licensed(ctx context.Context, t table.Tenant, id string, now time.Time) error {
	page, err := t.Query(ctx, DocumentsOf(t, id), table.Query{Limit: mostDocuments, Consistent: true, Fill: true})
	if err != nil {
		return err
	}
	why := ""
	for _, it := range page.Items {
		d, err := table.DecodeDoc[Document](it)
		switch {
		case err != nil:
			return err
		case d.Kind != "DRIVING_LICENCE":
		case d.State != nil && *d.State == "REJECTED":
			why = "was rejected"
		case d.ExpiresOn != nil && *d.ExpiresOn < now.UTC().Format(time.DateOnly):
			why = "expired on " + *d.ExpiresOn
		default:
			return nil
		}
	}
	if why != "" {
		return fault.InvalidState("The driving licence %s. Give the company a valid one to go online.", why)
	}
	return nil
}
