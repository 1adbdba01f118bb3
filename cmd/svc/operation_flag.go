package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/spf13/cobra"
)

// field is a member of a request, which a flag sets.
type field struct {
	name               string // of the query's parameter, or the path of the body's member: pricing.taxRate
	query              bool
	schema             *huma.Schema
	required, nullable bool
	text               string
}

// reserved are the flags of every command.
var reserved = []string{"data", "wide", "yes", "json", "help", "version"}

func (f field) flag() string { return flagName(f.name) }

// flagName returns the flag of a member: --icon-url for iconUrl. A flag of every command
// keeps its meaning: the member gets another flag.
func flagName(member string) string {
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

// words returns the values of an enumeration, nil if the field is none.
func (f field) words() (out []string) {
	for _, one := range f.schema.Enum {
		if text, ok := one.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// flagValue is the value of a flag. A flag with an older name sets the same one.
type flagValue struct {
	field
	set   bool
	texts []string                       // as typed; several only for an array
	read  func(string) ([]string, error) // of an older flag: what its text stands for
	of    *flagValue                     // of an older flag: the one that it sets
}

// Type implements pflag.Value. The help shows it as the kind of the value.
func (g *flagValue) Type() string {
	switch {
	case g.read != nil:
		return "value"
	case g.schema.Type == huma.TypeBoolean:
		return "bool"
	case g.schema.Type == huma.TypeInteger, g.schema.Type == huma.TypeNumber:
		return "number"
	case g.schema.Type == huma.TypeObject:
		return "JSON or file"
	case len(g.words()) > 0:
		return "word"
	}
	return "text"
}

// String implements pflag.Value. It is the default that the help shows.
func (g *flagValue) String() string { return "" }

// Set implements pflag.Value. Every occurrence of an array's flag adds an element, commas
// and all.
func (g *flagValue) Set(text string) error {
	texts, to := []string{text}, g
	if g.read != nil {
		var err error
		if texts, err = g.read(text); err != nil {
			return err
		}
	}
	if g.of != nil {
		to = g.of
	}
	if to.schema.Type != huma.TypeArray || !to.set {
		to.texts = nil
	}
	to.set = true
	for _, one := range texts {
		if to.schema.Type == huma.TypeArray && one == "" {
			continue // an empty list
		}
		if to.schema.Type != huma.TypeObject { // a file is read when the command runs
			if _, err := to.parse(one, to.schema); err != nil {
				return err
			}
		}
		to.texts = append(to.texts, one)
	}
	return nil
}

// value returns the JSON of the member.
func (g *flagValue) value() (json.RawMessage, error) {
	if g.schema.Type != huma.TypeArray {
		return g.parse(g.texts[0], g.schema)
	}
	all := []json.RawMessage{}
	for _, text := range g.texts {
		one, err := g.parse(text, g.schema.Items)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return json.Marshal(all)
}

// parse returns the JSON that a text stands for by the schema. For a member that may be
// null, an empty text stands for null. The word null stands for null too, unless the member is a
// text: a person may have the name Null.
func (g *flagValue) parse(text string, s *huma.Schema) (json.RawMessage, error) {
	if g.nullable && (text == "" || text == "null" && s.Type != huma.TypeString) {
		return json.RawMessage("null"), nil
	}
	switch s.Type {
	case huma.TypeArray:
		return g.parse(text, s.Items)
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
	if words := (field{schema: s}).words(); words != nil && !slices.Contains(words, text) {
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
			return nil, usagef("%s: expected a JSON object, and it is not JSON", text)
		}
		return json.RawMessage(text), nil
	}
	content, err := os.ReadFile(strings.TrimPrefix(text, "@"))
	if err == nil && !json.Valid(content) {
		err = usagef("%s: expected a JSON object, and the file is not JSON", text)
	}
	return content, err
}

// sample returns a value for the example in the help.
func (f field) sample() string {
	switch words := f.words(); {
	case len(words) > 0:
		return words[0]
	case f.schema.Type == huma.TypeBoolean:
		return "false"
	case len(f.schema.Examples) > 0 && f.schema.Type != huma.TypeObject && f.schema.Type != huma.TypeArray:
		return "'" + fmt.Sprint(f.schema.Examples[0]) + "'"
	case f.schema.Type == huma.TypeArray && len(f.schema.Examples) > 0:
		if list := reflect.ValueOf(f.schema.Examples[0]); list.Kind() == reflect.Slice && list.Len() > 0 {
			return "'" + fmt.Sprint(list.Index(0)) + "'"
		}
	case f.schema.Type == huma.TypeNumber, f.schema.Type == huma.TypeInteger:
		return "5"
	case f.schema.Type == huma.TypeObject:
		return f.flag() + ".json"
	}
	return "'some words'"
}

// help returns what the help says of a flag: the description of the member, the words of an
// enumeration, and what happens without the flag.
func (f field) help(required, changes bool) string {
	text, words := strings.ReplaceAll(f.text, "`", ""), f.words()
	if f.name == idempotencyKey {
		text = f.text
	}
	if len(words) > 0 {
		text += " One of " + strings.Join(words, ", ") + "."
	}
	if f.schema.Type == huma.TypeArray {
		text += " May be repeated."
	}
	switch {
	case required:
		text += " Required."
	case f.schema.Default != nil && !changes:
		value, _ := json.Marshal(f.schema.Default) // a default is valid JSON
		text += fmt.Sprintf(" The default is %s.", value)
	case f.nullable:
		text += " Empty for none."
	}
	return strings.TrimSpace(text)
}

// flags adds the flags of the operation's fields, and those with older names.
func (op *operation) flags(cmd *cobra.Command) map[string]*flagValue {
	in := map[string]*flagValue{}
	add := func(name, help string, g *flagValue) {
		flag := cmd.Flags().VarPF(g, name, "", help)
		if g.read == nil && g.schema.Type == huma.TypeBoolean {
			flag.NoOptDefVal = "true"
		}
		if words := g.words(); words != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
		}
		flag.Hidden = g.of != nil && g.read == nil
	}
	for _, f := range op.fields {
		g := &flagValue{field: f}
		if in[f.name] = g; f.name == "limit" && op.pages {
			g.text, g.schema = "How many to show at most. The default is 100.", &huma.Schema{Type: huma.TypeInteger,
				Minimum: new(1.0)}
		}
		add(f.flag(), g.help(op.needs(f), op.Method == http.MethodPatch), g)
	}
	for name, old := range op.old {
		to := in[old.member]
		help := old.help
		if help == "" {
			help = "the same as --" + to.flag()
		}
		if cmd.Flags().Lookup(name) == nil {
			add(name, help, &flagValue{field: to.field, read: old.read, of: to})
		}
	}
	return in
}
