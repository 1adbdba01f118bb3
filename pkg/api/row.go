package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/authz"
	"svc/pkg/table"
)

// Row is one endpoint: method, path, operation id, policy and handler.
type Row struct {
	Method  string
	Path    string // "/api/v1/trips/{id}"
	ID      string // operation id
	Policy  authz.Policy
	Status  int // of success
	Tag     string
	Summary string
	Text    string // description, Markdown

	needs    func(table.Tenant, Peek) []table.Key
	register func(huma.API, huma.Operation)
}

// Handler does an endpoint's work for an authorized caller. In is a struct with
// huma's tags, Out the JSON body of the answer.
type Handler[In, Out any] func(ctx context.Context, c *Caller, in *In) (*Out, error)

// Option sets one of a row's lesser properties.
type Option func(*Row)

// Created makes the row answer 201.
func Created() Option { return func(r *Row) { r.Status = http.StatusCreated } }

// Tag names the row's group in the document.
func Tag(name string) Option { return func(r *Row) { r.Tag = name } }

// Summary is the row's title in the document.
func Summary(text string) Option { return func(r *Row) { r.Summary = text } }

// Text is the row's description in the document.
func Text(markdown string) Option { return func(r *Row) { r.Text = markdown } }

// Needs names items that come in the same read as the checks; the handler
// gets them by Caller.Item. It sees the request before it is validated.
func Needs(keys func(t table.Tenant, p Peek) []table.Key) Option {
	return func(r *Row) { r.needs = keys }
}

// Get is a row that reads. Its handler may start before the checks have passed
// and must not change anything.
func Get[In, Out any](path, id string, p authz.Policy, h Handler[In, Out], options ...Option) Row {
	return row(http.MethodGet, path, id, p, h, options)
}

// Post is a row that changes something; Idempotency-Key is taken.
func Post[In, Out any](path, id string, p authz.Policy, h Handler[In, Out], options ...Option) Row {
	return row(http.MethodPost, path, id, p, h, options)
}

// Patch is a row that changes part of a resource.
func Patch[In, Out any](path, id string, p authz.Policy, h Handler[In, Out], options ...Option) Row {
	return row(http.MethodPatch, path, id, p, h, options)
}

// Delete is a row that takes something away.
func Delete[In, Out any](path, id string, p authz.Policy, h Handler[In, Out], options ...Option) Row {
	return row(http.MethodDelete, path, id, p, h, options)
}

func row[In, Out any](method, path, id string, p authz.Policy, h Handler[In, Out], options []Option) Row {
	r := Row{Method: method, Path: path, ID: id, Policy: p, Status: http.StatusOK}
	for _, set := range options {
		set(&r)
	}
	type output struct{ Body Out }
	r.register = func(a huma.API, op huma.Operation) {
		huma.Register(a, op, func(ctx context.Context, in *In) (*output, error) {
			x := exchangeOf(ctx)
			if x.invalid() != nil {
				return nil, nil
			}
			x.handled = true
			out, err := h(ctx, x.caller, in)
			x.err = err
			if out != nil {
				x.answer = out
			}
			return nil, nil
		})
	}
	return r
}
