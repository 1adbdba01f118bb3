package reference

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"

	"github.com/danielgtaylor/huma/v2"
)

//go:embed page.html
var pages embed.FS

var page = template.Must(template.New("page.html").Funcs(template.FuncMap{"prose": prose}).ParseFS(pages, "page.html"))

// Page makes the reference page of a document that has its examples.
func Page(doc *huma.OpenAPI) ([]byte, error) {
	var buf bytes.Buffer
	if err := page.Execute(&buf, view(doc)); err != nil {
		return nil, fmt.Errorf("reference page: %w", err)
	}
	return buf.Bytes(), nil
}
