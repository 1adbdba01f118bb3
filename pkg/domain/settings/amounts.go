package settings

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"svc/pkg/base/fault"
	"svc/pkg/base/money"
	"svc/pkg/data/table"
)

// Limits bound the amounts of a tenant's settings.
type Limits struct {
	Currency string
	Largest  money.Amount // the tenant's largest fare; "" for money.DefaultMaxFare
}

// LimitsOf returns the limits of a tenant, from a copy of its flags.
func LimitsOf(flags table.Item) Limits {
	return Limits{flags.Text("currency"), flags.Amount("maxFare")}
}

// amount checks the amount n of the settings, and rounds n if a client computed it with
// floats. It adds a fault to wrong, under the name field.
func (l Limits) amount(wrong *fault.Faults, field string, n *money.Amount) {
	d, err := money.Accept(*n, l.Currency)
	most := money.MaxFare(l.Largest, l.Currency).Decimal()
	switch {
	case err != nil:
		wrong.Add(field, err.Error())
	case d.GreaterThan(most):
		wrong.Unless(false, field, "expected at most %s, the company's largest fare", most)
	case !d.Equal(n.Decimal()):
		*n = money.Of(d)
	}
}

// changed removes from the error the faults of members whose value is the same before and
// after the change. So a stored value that an older build or another currency allowed
// does not block changes of other members. was and now are the values before and after.
func changed(err error, was, now any) error {
	var f *fault.Error
	if !errors.As(err, &f) || len(f.Details) == 0 {
		return err
	}
	before, after := jsonOf(was), jsonOf(now)
	var wrong fault.Faults
	for _, d := range f.Details {
		path := strings.Split(d.Field, ".")
		value, ok := at(after, path)
		if stored, _ := at(before, path); !ok || !reflect.DeepEqual(value, stored) {
			wrong = append(wrong, d)
		}
	}
	return wrong.Err()
}

// jsonOf returns a value as the members of a JSON object, with exact numbers.
func jsonOf(v any) map[string]any {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	tree, _ := treeOf(string(text))
	return tree
}

// at returns the member of a JSON object at a path. ok is false if there is none.
func at(tree map[string]any, path []string) (value any, ok bool) {
	for i, name := range path {
		if value, ok = tree[name]; i == len(path)-1 || !ok {
			return value, ok
		}
		if tree, ok = value.(map[string]any); !ok {
			return nil, false
		}
	}
	return value, ok
}
