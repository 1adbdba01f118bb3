package reference

import (
	"bytes"
	_ "embed"
	stdjson "encoding/json"
	"fmt"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// fixedText is the part of the document that does not come from rows: the OAuth
// endpoints, the error responses of the API, and the groups of operations in the order of
// the reference page.
//
//go:embed fixed.json
var fixedText []byte

// fixed is the content of fixed.json.
type fixed struct {
	Tags       []*huma.Tag
	Paths      map[string]*huma.PathItem
	Components struct {
		Schemas         map[string]*huma.Schema
		Responses       map[string]*huma.Response
		SecuritySchemes map[string]*huma.SecurityScheme
	}
}

// readFixed decodes fixed.json. Examples stay texts, because a map would sort their
// members.
func readFixed() (out fixed, err error) {
	text := bytes.ReplaceAll(fixedText, []byte(`"$ref":`), []byte(`"ref":`)) // huma's field Ref has no JSON name
	err = json.Unmarshal(text, &out, json.MatchCaseInsensitiveNames(true), json.RejectUnknownMembers(true),
		json.WithUnmarshalers(json.UnmarshalFromFunc(func(from *jsontext.Decoder, example *any) error {
			value, err := from.ReadValue()
			*example = stdjson.RawMessage(bytes.Clone(value))
			return err
		})))
	if err != nil {
		return out, fmt.Errorf("fixed.json: %w", err)
	}
	return out, nil
}
