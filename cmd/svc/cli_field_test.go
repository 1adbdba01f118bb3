package main

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
		field field
		texts []string
		want  string // JSON, or what the error says
	}{
		"false is sent":                {field{schema: on}, []string{"false"}, "false"},
		"null clears a boolean":        {field{schema: on, nullable: true}, []string{"null"}, "null"},
		"no text clears a text":        {field{schema: text, nullable: true}, []string{""}, "null"},
		"somebody is called null":      {field{schema: text, nullable: true}, []string{"null"}, `"null"`},
		"a text that may not be null":  {field{schema: text}, []string{""}, `""`},
		"digits of a text stay a text": {field{schema: text}, []string{"0123"}, `"0123"`},
		"a number stays exact": {field{schema: number}, []string{"12345678901234567890.1"},
			"12345678901234567890.1"},
		"a number in another notation":          {field{schema: number}, []string{"0x10"}, "expected a number"},
		"no number":                             {field{schema: number}, []string{"NaN"}, "expected a number"},
		"leading zeros":                         {field{schema: whole}, []string{"007"}, "7"},
		"above 2^53":                            {field{schema: whole}, []string{"9007199254740993"}, "9007199254740993"},
		"a comma within an element":             {field{schema: list}, []string{"a,b", "c"}, `["a,b","c"]`},
		"an empty list":                         {field{schema: list}, []string{""}, "[]"},
		"a JSON object is no text":              {field{schema: object}, []string{` {"a": [1]}`}, `{"a": [1]}`},
		"an object that is not JSON":            {field{schema: object}, []string{"{a}"}, "not JSON"},
		"a word of an enumeration, in its case": {field{schema: words}, []string{"cash"}, "expected CASH, CARD"},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := &flagValue{field: c.field}, error(nil)
			for _, one := range c.texts {
				if err == nil {
					err = g.Set(one)
				}
			}
			var got json.RawMessage
			if err == nil {
				got, err = g.value()
			}
			if err == nil && strings.TrimSpace(string(got)) != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %v, want %s", got, err, c.want)
			}
		})
	}
}
