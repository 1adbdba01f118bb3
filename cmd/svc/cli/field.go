package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
)

// Field is a member of a request, which a flag sets.
type Field struct {
	Name               string // of the query's parameter, or the path of the body's member: pricing.taxRate
	Query              bool
	Schema             *huma.Schema
	Required, Nullable bool
	Text               string
}

// reserved are the flags of every command.
var reserved = []string{"data", "wide", "yes", "json", "help", "version"}

// Flag returns the name of the flag.
func (f Field) Flag() string { return FlagName(f.Name) }

// FlagName returns the flag of a member: --icon-url for iconUrl. A flag of every command
// keeps its meaning: the member gets another flag.
func FlagName(member string) string {
	var out strings.Builder
	for _, r := range strings.ReplaceAll(member, ".", "-") {
		if unicode.IsUpper(r) {
			out.WriteByte('-')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	if slices.Contains(reserved, out.String()) {
		out.WriteString("-value")
	}
	return out.String()
}

// Words returns the values of an enumeration, nil if the field is none.
func (f Field) Words() (out []string) {
	for _, one := range f.Schema.Enum {
		if text, ok := one.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// FlagValue is the value of a flag. A flag with an older name sets the same one.
type FlagValue struct {
	Field
	Given bool
	Texts []string                       // as typed; several only for an array
	Read  func(string) ([]string, error) // of an older flag: what its text stands for
	Of    *FlagValue                     // of an older flag: the one that it sets
}

// Type implements pflag.Value. The help shows it as the kind of the value.
func (g *FlagValue) Type() string {
	switch {
	case g.Read != nil:
		return "value"
	case g.Schema.Type == huma.TypeBoolean:
		return "bool"
	case g.Schema.Type == huma.TypeInteger, g.Schema.Type == huma.TypeNumber:
		return "number"
	case g.Schema.Type == huma.TypeObject:
		return "JSON or file"
	case len(g.Words()) > 0:
		return "word"
	}
	return "text"
}

// String implements pflag.Value. It is the default that the help shows.
func (g *FlagValue) String() string { return "" }

// Set implements pflag.Value. Every occurrence of an array's flag adds an element, commas
// and all.
func (g *FlagValue) Set(text string) error {
	texts, to := []string{text}, g
	if g.Read != nil {
		var err error
		if texts, err = g.Read(text); err != nil {
			return err
		}
	}
	if g.Of != nil {
		to = g.Of
	}
	if to.Schema.Type != huma.TypeArray || !to.Given {
		to.Texts = nil
	}
	to.Given = true
	for _, one := range texts {
		if to.Schema.Type == huma.TypeArray && one == "" {
			continue // an empty list
		}
		if to.Schema.Type != huma.TypeObject { // a file is read when the command runs
			if _, err := to.Parse(one, to.Schema); err != nil {
				return err
			}
		}
		to.Texts = append(to.Texts, one)
	}
	return nil
}

// Value returns the JSON of the member.
func (g *FlagValue) Value() (json.RawMessage, error) {
	if g.Schema.Type != huma.TypeArray {
		return g.Parse(g.Texts[0], g.Schema)
	}
	all := []json.RawMessage{}
	for _, text := range g.Texts {
		one, err := g.Parse(text, g.Schema.Items)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return json.Marshal(all)
}

// Parse returns the JSON that a text stands for by the schema. For a member that may be
// null, an empty text stands for null. The word null stands for null too, unless the member is a
// text: a person may have the name Null.
func (g *FlagValue) Parse(text string, s *huma.Schema) (json.RawMessage, error) {
	if g.Nullable && (text == "" || text == "null" && s.Type != huma.TypeString) {
		return json.RawMessage("null"), nil
	}
	switch s.Type {
	case huma.TypeArray:
		return g.Parse(text, s.Items)
	case huma.TypeBoolean:
		on, err := strconv.ParseBool(text)
		if err != nil {
			return nil, errors.New("expected true or false")
		}
		return json.Marshal(on)
	case huma.TypeInteger:
		number, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			return nil, errors.New("expected a whole number")
		}
		return json.RawMessage(strconv.FormatInt(number, 10)), within("a whole number", float64(number), s.Minimum, s.Maximum)
	case huma.TypeNumber:
		number := strings.TrimSpace(text)
		value, err := strconv.ParseFloat(number, 64)
		if err != nil || !json.Valid([]byte(number)) {
			return nil, errors.New("expected a number, such as 12.5")
		}
		return json.RawMessage(number), within("a number", value, s.Minimum, s.Maximum) // exact, as it was typed
	case huma.TypeObject:
		return document(text)
	}
	if words := (Field{Schema: s}).Words(); words != nil && !slices.Contains(words, text) {
		return nil, fmt.Errorf("expected %s", strings.Join(words, ", "))
	}
	out, err := json.Marshal(text)
	return out, cmp.Or(err, within("a text of", float64(utf8.RuneCountInString(text)), asFloat(s.MinLength),
		asFloat(s.MaxLength)))
}

func asFloat(n *int) *float64 {
	if n == nil {
		return nil
	}
	return new(float64(*n))
}

// within returns an error that says what is expected if a value is out of bounds.
func within(what string, value float64, least, most *float64) error {
	said := func(n *float64) string { return strconv.FormatFloat(*n, 'f', -1, 64) }
	unit := map[bool]string{true: " characters"}[strings.HasSuffix(what, " of")]
	switch {
	case (least == nil || value >= *least) && (most == nil || value <= *most):
		return nil
	case least == nil || *least == 0 && unit != "":
		return errors.New("expected " + what + " at most " + said(most) + unit)
	case most == nil:
		return errors.New("expected " + what + " at least " + said(least) + unit)
	}
	return errors.New("expected " + what + " " + said(least) + " to " + said(most) + unit)
}

// document returns a JSON object that is given as it is, or is in a file.
func document(text string) (json.RawMessage, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		if !json.Valid([]byte(text)) {
			return nil, Usagef("%s: expected a JSON object, and it is not JSON", text)
		}
		return json.RawMessage(text), nil
	}
	content, err := os.ReadFile(strings.TrimPrefix(text, "@"))
	if err == nil && !json.Valid(content) {
		err = Usagef("%s: expected a JSON object, and the file is not JSON", text)
	}
	return content, err
}

// Sample returns a value for the example in the help.
func (f Field) Sample() string {
	switch words := f.Words(); {
	case len(words) > 0:
		return words[0]
	case f.Schema.Type == huma.TypeBoolean:
		return "false"
	case len(f.Schema.Examples) > 0 && f.Schema.Type != huma.TypeObject && f.Schema.Type != huma.TypeArray:
		return "'" + fmt.Sprint(f.Schema.Examples[0]) + "'"
	case f.Schema.Type == huma.TypeArray && len(f.Schema.Examples) > 0:
		if list := reflect.ValueOf(f.Schema.Examples[0]); list.Kind() == reflect.Slice && list.Len() > 0 {
			return "'" + fmt.Sprint(list.Index(0)) + "'"
		}
	case f.Schema.Type == huma.TypeNumber, f.Schema.Type == huma.TypeInteger:
		return "5"
	case f.Schema.Type == huma.TypeObject:
		return f.Flag() + ".json"
	}
	return "'some words'"
}

// Help returns what the help says of a flag: the description of the member, the words of an
// enumeration, and what happens without the flag.
func (f Field) Help(required, changes bool) string {
	text, words := strings.ReplaceAll(f.Text, "`", ""), f.Words()
	if f.Name == IdempotencyKey {
		text = f.Text
	}
	if len(words) > 0 {
		text += " One of " + strings.Join(words, ", ") + "."
	}
	if f.Schema.Type == huma.TypeArray {
		text += " May be repeated."
	}
	switch {
	case required:
		text += " Required."
	case f.Schema.Default != nil && !changes:
		value, _ := json.Marshal(f.Schema.Default) // a default is valid JSON
		text += fmt.Sprintf(" The default is %s.", value)
	case f.Nullable:
		text += " Empty for none."
	}
	return strings.TrimSpace(text)
}

// IdempotencyKey is the name of the field for the request's header.
const IdempotencyKey = "idempotencyKey"
