package api

import (
	"cmp"
	"errors"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"svc/pkg/base/codec"
	"svc/pkg/base/fault"
)

// Changes is the body of a change of some members of a T, merged deeply (RFC 7396).
// null resets an optional member to its default. If T has a method Defaults, null
// resets any member.
type Changes[T any] struct{ text jsontext.Value }

// defaulted is a T with a default for each of its members.
type defaulted interface{ Defaults() any }

// UnmarshalJSON keeps the text.
func (p *Changes[T]) UnmarshalJSON(text []byte) error {
	p.text = jsontext.Value(text).Clone()
	return nil
}

// MarshalJSON writes the text.
func (p Changes[T]) MarshalJSON() ([]byte, error) { return p.text, nil }

// Schema returns the schema of a T without required members.
func (Changes[T]) Schema(r huma.Registry) *huma.Schema {
	_, resets := any(*new(T)).(defaulted)
	return partial(r, r.Schema(reflect.TypeFor[T](), true, ""), resets)
}

func partial(r huma.Registry, s *huma.Schema, resets bool) *huma.Schema {
	if s.Ref != "" {
		s = r.SchemaFromRef(s.Ref)
	}
	if s.Type != huma.TypeObject || len(s.Properties) == 0 {
		return s
	}
	out := &huma.Schema{Type: huma.TypeObject, Description: s.Description, AdditionalProperties: false,
		Properties: map[string]*huma.Schema{}}
	optional := map[string]bool{}
	for name := range s.Properties {
		optional[name] = true
	}
	for _, name := range s.Required {
		optional[name] = resets
	}
	for name, member := range s.Properties {
		one := *partial(r, member, resets)
		one.Nullable = optional[name] || one.Nullable
		one.Description = cmp.Or(member.Description, one.Description)
		one.PrecomputeMessages()
		out.Properties[name] = &one
	}
	out.PrecomputeMessages()
	return out
}

// Apply changes the members of to that the patch has. A member that is null
// becomes what it is in a T's defaults, or in the zero value.
func (p Changes[T]) Apply(to *T) error {
	var none any = *new(T)
	if d, ok := none.(defaulted); ok {
		none = d.Defaults()
	}
	defaults, err := codec.Marshal(none)
	if err != nil {
		return err
	}
	text, err := reset(p.text, defaults)
	if err != nil {
		return err
	}
	if err := codec.Unmarshal(text, to); err != nil {
		if field := codec.Field(err); field != "" { // a number that the schema does not bound and Go does
			return fault.Field(field, "expected a number that is nearer to 0")
		}
		return err
	}
	return nil
}

// reset replaces each null of a patch by the member of the defaults.
func reset(patch, defaults jsontext.Value) (jsontext.Value, error) {
	if patch.Kind() == 'n' && len(defaults) > 0 {
		return defaults, nil
	}
	if patch.Kind() != '{' || defaults.Kind() != '{' {
		return patch, nil
	}
	known := map[string]jsontext.Value{}
	if err := codec.Members(defaults, func(name string, v jsontext.Value) { known[name] = v.Clone() }); err != nil {
		return nil, err
	}
	out := map[string]jsontext.Value{}
	var wrong error
	err := codec.Members(patch, func(name string, v jsontext.Value) {
		one, err := reset(v.Clone(), known[name])
		out[name], wrong = one, errors.Join(wrong, err)
	})
	if err = errors.Join(err, wrong); err != nil {
		return nil, err
	}
	return codec.Marshal(out)
}

// InBody puts "body." before the names of the fields of a fault, as the caller knows
// them: name becomes body.name.
func InBody(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.KindInvalid {
		return err
	}
	details := make([]fault.Detail, len(f.Details))
	for i, d := range f.Details {
		details[i] = fault.Detail{Field: "body." + d.Field, Message: d.Message}
	}
	return fault.Invalid(details...)
}
