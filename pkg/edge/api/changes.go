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

// Changes is the body of a PATCH request: some members of a T, merged deeply (RFC
// 7396). null resets an optional member to its default. If T has a method Defaults,
// null resets any member.
type Changes[T any] struct{ text jsontext.Value }

// defaulted is a type that has a default for each of its members.
type defaulted interface{ Defaults() any }

// UnmarshalJSON keeps the JSON text of the changes for Apply.
func (p *Changes[T]) UnmarshalJSON(text []byte) error {
	p.text = jsontext.Value(text).Clone()
	return nil
}

// MarshalJSON returns the JSON text of the changes.
func (p Changes[T]) MarshalJSON() ([]byte, error) { return p.text, nil }

// Schema returns the schema of a T without required members.
func (Changes[T]) Schema(r huma.Registry) *huma.Schema {
	_, resets := any(*new(T)).(defaulted)
	return partial(r, r.Schema(reflect.TypeFor[T](), true, ""), resets)
}

// partial returns the schema s without required members. null is allowed for optional
// members, and for all members if resets is true.
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

// Apply merges the changes p into to. null sets a member to its value in T's Defaults, or to
// the zero value if T has no Defaults. Errors: a 400 for a number that is too large.
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
		if field := codec.Field(err); field != "" { // a number that is too large for the Go type
			return fault.Field(field, "expected a number that is nearer to 0")
		}
		return err
	}
	return nil
}

// Names reports whether the changes name a member of T.
func (p Changes[T]) Names(member string) (named bool) {
	_ = codec.Members(p.text, func(name string, _ jsontext.Value) { named = named || name == member })
	return named
}

// reset replaces each null of a patch by the member of the defaults with the same name.
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

// InBody puts "body." before the field names of a fault: name becomes body.name, as in
// the faults of other requests.
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
