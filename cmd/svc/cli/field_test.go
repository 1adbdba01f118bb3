package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// TestFlagValues: a flag makes the JSON that the schema asks for, exactly. Each case is one
// that other generated command lines got wrong.
func TestFlagValues(t *testing.T) {
	t.Parallel()
	text, number := &huma.Schema{Type: huma.TypeString}, &huma.Schema{Type: huma.TypeNumber}
	on, whole := &huma.Schema{Type: huma.TypeBoolean}, &huma.Schema{Type: huma.TypeInteger}
	list, object := &huma.Schema{Type: huma.TypeArray, Items: text}, &huma.Schema{Type: huma.TypeObject}
	words := &huma.Schema{Type: huma.TypeString, Enum: []any{"CASH", "CARD"}}
	for name, c := range map[string]struct {
		field Field
		texts []string
		want  string // JSON, or what the error says
	}{
		"false is sent":                {Field{Schema: on}, []string{"false"}, "false"},
		"null clears a boolean":        {Field{Schema: on, Nullable: true}, []string{"null"}, "null"},
		"no text clears a text":        {Field{Schema: text, Nullable: true}, []string{""}, "null"},
		"somebody is called null":      {Field{Schema: text, Nullable: true}, []string{"null"}, `"null"`},
		"a text that may not be null":  {Field{Schema: text}, []string{""}, `""`},
		"digits of a text stay a text": {Field{Schema: text}, []string{"0123"}, `"0123"`},
		"a number stays exact": {Field{Schema: number}, []string{"12345678901234567890.1"},
			"12345678901234567890.1"},
		"a number in another notation":          {Field{Schema: number}, []string{"0x10"}, "expected a number"},
		"no number":                             {Field{Schema: number}, []string{"NaN"}, "expected a number"},
		"leading zeros":                         {Field{Schema: whole}, []string{"007"}, "7"},
		"above 2^53":                            {Field{Schema: whole}, []string{"9007199254740993"}, "9007199254740993"},
		"a comma within an element":             {Field{Schema: list}, []string{"a,b", "c"}, `["a,b","c"]`},
		"an empty list":                         {Field{Schema: list}, []string{""}, "[]"},
		"a JSON object is no text":              {Field{Schema: object}, []string{` {"a": [1]}`}, `{"a": [1]}`},
		"an object that is not JSON":            {Field{Schema: object}, []string{"{a}"}, "not JSON"},
		"a word of an enumeration, in its case": {Field{Schema: words}, []string{"cash"}, "expected CASH, CARD"},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := &FlagValue{Field: c.field}, error(nil)
			for _, one := range c.texts {
				if err == nil {
					err = g.Set(one)
				}
			}
			var got json.RawMessage
			if err == nil {
				got, err = g.Value()
			}
			if err == nil && strings.TrimSpace(string(got)) != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %v, want %s", got, err, c.want)
			}
		})
	}
}
