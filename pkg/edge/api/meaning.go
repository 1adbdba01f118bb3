package api

import (
	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/base/plaintext"
)

// oneLine is the largest maxLength of a single-line text, in characters: an
// address, a name, a label or a title. A text with a larger maxLength may have
// line breaks.
const oneLine = 300

// checkText rejects control characters and blank texts. A text of several lines may
// have line breaks and tabs, and may be blank unless it has a minLength. checkText
// skips an empty text, which huma checks, and a text without a maxLength, such
// as a value of an enumeration, which huma checks too.
func (w *walker) checkText(schema *huma.Schema, text []byte) {
	if schema == nil || schema.MaxLength == nil || len(text) == 0 {
		return
	}
	isLine, needed := textRule(schema)
	if plaintext.HasControls(string(text), !isLine) {
		w.blame("control characters are not allowed")
		return
	}
	if (isLine || needed) && plaintext.IsBlank(string(text)) {
		w.blame("expected a text that is not blank")
	}
}

// textRule reports whether a text is a single line, and whether it is needed:
// it has a minLength above 0.
func textRule(schema *huma.Schema) (isLine, needed bool) {
	return *schema.MaxLength <= oneLine, schema.MinLength != nil && *schema.MinLength > 0
}

// notBlank is the pattern of a text of several lines that must not be blank.
const notBlank = `\S`

// DocumentText adds a pattern to the schema of a text. It tells readers of the
// published document which texts a request may contain.
func DocumentText(schema *huma.Schema) {
	if schema.MaxLength == nil || schema.Enum != nil || schema.Pattern != "" && schema.Pattern != notBlank {
		return
	}
	isLine, needed := textRule(schema)
	needed = needed || schema.Pattern == notBlank
	controls := `\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x9F`
	if isLine {
		controls = `\x00-\x1F\x7F-\x9F`
	}
	blanks := "[^" + controls + "]*"
	words := blanks + `[^\s` + controls + "]" + blanks
	switch {
	case needed:
		schema.Pattern = "^" + words + "$"
	case isLine:
		schema.Pattern = "^(" + words + ")?$"
	default:
		schema.Pattern = "^" + blanks + "$"
	}
}
