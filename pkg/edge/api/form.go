package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Form is a format of an endpoint's response besides JSON.
type Form struct {
	MediaType string // such as "text/html"
	Text      string // description in the OpenAPI document
	write     func(ctx context.Context, c *Caller, answer any) (*Document, error)
}

// Document is a response in another form than JSON. Header has its Content-Type.
type Document struct {
	Header http.Header
	Body   []byte
}

// Also adds a format of the response for callers whose header Accept prefers it to
// JSON. write gets what the handler returned, when all checks have passed. Error
// responses stay JSON.
func Also[Out any](mediaType, text string, write func(ctx context.Context, c *Caller, out *Out) (*Document,
	error)) Option {
	return func(r *Row) {
		r.forms = append(r.forms, Form{mediaType, text, func(ctx context.Context, c *Caller, answer any) (*Document, error) {
			return write(ctx, c, answer.(*Out))
		}})
	}
}

// Form returns the media type of the form that the request asks for, "" for JSON.
func (p Peek) Form() string { return p.form }

// AcceptLanguage returns the caller's languages (RFC 9110 section 12.5.4).
func (c *Caller) AcceptLanguage() string {
	return strings.Join(c.x.r.Header.Values("Accept-Language"), ",")
}

// chooseForm returns the form that an Accept header (RFC 9110 section 12.5.1) names
// with at least the weight of JSON, or nil for JSON. A wildcard names no form, so a
// program that accepts anything gets JSON. If the header names JSON as well, with the
// same weight, the response is JSON.
func chooseForm(forms []Form, accept string) (best *Form) {
	if len(forms) == 0 || accept == "" {
		return nil
	}
	weights := map[string]float64{}
	for part := range strings.SplitSeq(accept, ",") {
		kind, params, _ := strings.Cut(part, ";")
		weights[strings.ToLower(strings.TrimSpace(kind))] = weight(params)
	}
	least, named := weights["application/json"]
	if !named {
		least = max(weights["application/*"], weights["*/*"])
	}
	for i, form := range forms {
		w := weights[form.MediaType]
		if w > least || w > 0 && w == least && !named && best == nil {
			best, least = &forms[i], w
		}
	}
	return best
}

// weight returns q, the weight in a media range's parameters: 1 by default, 0 if q is not a
// number from 0 to 1.
func weight(params string) float64 {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if !strings.EqualFold(name, "q") {
			continue
		}
		if q, err := strconv.ParseFloat(value, 64); err == nil && q >= 0 && q <= 1 {
			return q
		}
		return 0
	}
	return 1
}

// formType returns the media type of the form that the request asks for, "" for JSON.
func (x *exchange) formType() string {
	if x.form == nil {
		return ""
	}
	return x.form.MediaType
}

// describeForms adds the endpoint's formats besides JSON to the responses of its operation
// in the OpenAPI document.
func (r Row) describeForms(op *huma.Operation) {
	if len(r.forms) == 0 {
		return
	}
	status := strconv.Itoa(r.Status)
	answer := op.Responses[status]
	if answer == nil {
		answer = &huma.Response{}
		op.Responses[status] = answer
	}
	answer.Content = map[string]*huma.MediaType{"application/json": {}}
	for _, form := range r.forms {
		answer.Content[form.MediaType] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString,
			Description: form.Text}}
	}
	if answer.Headers == nil {
		answer.Headers = map[string]*huma.Param{}
	}
	answer.Headers["Vary"] = &huma.Param{Description: "Names `Accept`, which chooses the form of the response.",
		Schema: &huma.Schema{Type: huma.TypeString}}
}

// finishForm sends the answer in the form that the request asks for. If that is JSON, it
// sends nothing and returns false.
func (x *exchange) finishForm(ctx context.Context) (bool, error) {
	if len(x.row.forms) > 0 {
		x.header.Add("Vary", "Accept")
	}
	if x.form == nil {
		return false, nil
	}
	d, err := x.form.write(ctx, x.caller, x.answer)
	if err != nil {
		return true, err
	}
	for name, values := range d.Header {
		if name == "Vary" {
			values = slices.Concat(x.header[name], values)
		}
		x.header[name] = values
	}
	x.sendTag()
	x.send(x.row.Status, d.Body)
	return true, nil
}
