package branding

import (
	"context"
	"errors"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

// Rows returns the endpoints of branding.
func Rows() []api.Row {
	return []api.Row{
		api.Get("/api/v1/branding", "svc_get_branding", authz.Operators("tenant.settings:read", "VIEW_BRANDING"), get,
			api.Tag("Settings"), api.Summary("Read the branding"), api.Text("Logo, colours, theme, support and legal "+
				"addresses. A field that is not set is null."),
			api.Needs(need)),
		api.Patch("/api/v1/branding", "svc_update_branding", authz.Operators("tenant.branding:write", "EDIT_BRANDING"), patch,
			api.Needs(need), api.Tag("Settings"), api.Summary("Change the branding"),
			api.Confirm("Everybody who signs in to the company sees it at once."),
			api.Text("Only the given fields change; `null` clears a field. The sign-in pages show the change at once.")),
	}
}

// need returns the key of the branding, which is read together with the access checks.
func need(t table.Tenant, _ api.Peek) []table.Key { return []table.Key{Key(t)} }

// get returns the branding of the caller's tenant.
func get(ctx context.Context, c *api.Caller, _ *struct{}) (*Branding, error) {
	b, err := Kind.Get(ctx, c.Item, Key(c.Tenant))
	return &b, err
}

type patchInput struct {
	Body Patch
}

// Resolve implements huma.Resolver: it returns the faults of the patch. huma calls it when
// it checks the body against the schema, so one response lists every fault of a request.
// So an agent asks a person to confirm only a change whose patch is valid.
func (in *patchInput) Resolve(huma.Context) (errs []error) {
	_, err := Branding{}.Apply(in.Body)
	var f *fault.Error
	if errors.As(err, &f) {
		for _, d := range f.Details {
			errs = append(errs, &huma.ErrorDetail{Location: d.Field, Message: d.Message})
		}
	}
	return errs
}

// patch applies the request's patch and returns the new branding.
func patch(ctx context.Context, c *api.Caller, in *patchInput) (*Branding, error) {
	b, err := ChangeRead(ctx, c.Tenant, c.Reader(), c.By(), in.Body,
		func(ctx context.Context, tx *table.Tx, b Branding) error {
			return c.Commit(ctx, tx, b)
		})
	if err != nil {
		return nil, err
	}
	return &b, nil
}
