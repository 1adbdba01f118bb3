package api

import (
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// TestFormatsInOwnWords: a text that has not its format is refused without the words of
// Go's packages, which repeat it.
func TestFormatsInOwnWords(t *testing.T) {
	for format, text := range map[string]string{"uri": "https://exa mple/", "uri-reference": "https://[::1", "iri": "%zz",
		"uuid": "exa mple", "email": "exa mple"} {
		s := &huma.Schema{Type: huma.TypeString, Format: format}
		s.PrecomputeMessages()
		var path huma.PathBuffer
		var found huma.ValidateResult
		huma.Validate(registry(), s, &path, huma.ModeWriteToServer, text, &found)
		for _, err := range found.Errors {
			if m := err.Error(); strings.Contains(m, "parse") || strings.Contains(m, "invalid") || strings.HasSuffix(m, ":") {
				t.Errorf("%s: %s", format, m)
			}
		}
		if len(found.Errors) != 1 {
			t.Errorf("%s: %d faults", format, len(found.Errors))
		}
	}
}
