package apptest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"svc/internal/test/testkit"
	"svc/pkg/app"
	"svc/pkg/base/fault"
	"svc/pkg/domain/page"
	"svc/pkg/edge/reference"
)

// described is the document of the operations. Unlike the published one, it declares
// every member that a response may have.
type described struct {
	*huma.OpenAPI
	operations map[string]*huma.Operation // by id
}

var document = sync.OnceValues(func() (described, error) {
	doc, err := reference.Document("https://api.svc.example", page.ScopePhrase, app.Rows(nil)...)
	out := described{doc, map[string]*huma.Operation{}}
	if err == nil {
		for _, path := range doc.Paths {
			for _, op := range reference.Operations(path) {
				out.operations[op.OperationID] = op
			}
		}
	}
	return out, err
})

// Undescribed returns the differences between a response of an operation and its
// description in the document: a status or a member that is not declared, any value
// that the schema does not allow, and a fault of a member that no request has.
func Undescribed(t testing.TB, operation string, status int, body []byte) []string {
	t.Helper()
	doc, err := document()
	testkit.Must(t, err)
	op := doc.operations[operation]
	if op == nil {
		return []string{operation + " is not an operation of the document"}
	}
	response := op.Responses[strconv.Itoa(status)]
	if response == nil {
		return []string{"the status " + strconv.Itoa(status) + " is not declared"}
	}
	if name, isRef := strings.CutPrefix(response.Ref, "#/components/responses/"); isRef {
		response = doc.Components.Responses[name]
	}
	media := response.Content["application/json"]
	if media == nil {
		return nil // a stream of events
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return []string{err.Error()}
	}
	result := &huma.ValidateResult{}
	huma.Validate(doc.Components.Schemas, media.Schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, value, result)
	var out []string
	for _, err := range result.Errors {
		out = append(out, err.Error())
	}
	return append(out, doc.unknownFields(op, body)...)
}

// unknownFields returns the fields of the faults in a response that the operation does not
// have, unless the fault is that.
func (d described) unknownFields(op *huma.Operation, body []byte) (out []string) {
	var refused struct{ Details []fault.Detail }
	_ = json.Unmarshal(body, &refused) // a list may have members of the same name
	for _, f := range refused.Details {
		place, member, _ := strings.Cut(f.Field, ".")
		known := true
		switch {
		case f.Message == "unknown parameter", f.Message == "unexpected property", strings.HasSuffix(member, "…"):
		case place == "body" && member != "":
			known = op.RequestBody != nil && d.hasMember(op.RequestBody.Content["application/json"].Schema, member)
		case place == "query" && member != "", place == "path":
			known = slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool { return p.In == place && p.Name == member })
		default:
			known = place == "body" || place == "query" || place == "header"
		}
		if !known {
			out = append(out, "the request has no "+f.Field)
		}
	}
	return out
}

// hasMember reports whether a value of the schema may have the member at a path.
func (d described) hasMember(s *huma.Schema, path string) bool {
	s = d.resolved(s)
	open := s.AdditionalProperties != nil && s.AdditionalProperties != false
	if open || slices.ContainsFunc(slices.Concat(s.OneOf, s.AnyOf), func(one *huma.Schema) bool {
		return d.hasMember(one, path)
	}) {
		return true
	}
	name, rest, nested := strings.Cut(path, ".")
	name, index, _ := strings.Cut(name, "[")
	member := s.Properties[name]
	for range strings.Count(index, "]") {
		if member = d.resolved(member); member != nil {
			member = member.Items
		}
	}
	return member != nil && (!nested || d.hasMember(member, rest))
}

// resolved returns the schema to which a reference leads.
func (d described) resolved(s *huma.Schema) *huma.Schema {
	if s != nil && s.Ref != "" {
		return d.Components.Schemas.SchemaFromRef(s.Ref)
	}
	return s
}
