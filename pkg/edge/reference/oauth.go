package reference

import (
	"bytes"
	_ "embed"
	stdjson "encoding/json"
	"fmt"
	"maps"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// oauth is the part of the document about the OAuth endpoints, which are not rows.
//
//go:embed oauth.json
var oauth []byte

// fragment is what oauth.json has.
type fragment struct {
	Paths      map[string]*huma.PathItem
	Components struct {
		Schemas         map[string]*huma.Schema
		SecuritySchemes map[string]*huma.SecurityScheme
	}
}

// describeOAuth adds the OAuth endpoints to the document.
func describeOAuth(doc *huma.OpenAPI) error {
	var f fragment
	text := bytes.ReplaceAll(oauth, []byte(`"$ref":`), []byte(`"ref":`)) // huma's types have no JSON names
	err := json.Unmarshal(text, &f, json.MatchCaseInsensitiveNames(true), json.WithUnmarshalers(
		json.UnmarshalFromFunc(func(from *jsontext.Decoder, example *any) error { // a map would sort its members
			value, err := from.ReadValue()
			*example = stdjson.RawMessage(bytes.Clone(value))
			return err
		})))
	if err != nil {
		return fmt.Errorf("oauth.json: %w", err)
	}
	maps.Copy(doc.Paths, f.Paths)
	maps.Copy(doc.Components.Schemas.Map(), f.Components.Schemas)
	maps.Copy(doc.Components.SecuritySchemes, f.Components.SecuritySchemes)
	return nil
}
