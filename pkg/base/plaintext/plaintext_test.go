package plaintext_test

import (
	"strings"
	"testing"

	"svc/pkg/base/plaintext"
)

func TestIsLine(t *testing.T) {
	for text, want := range map[string]bool{"Porto Café": true, " x ": true, strings.Repeat("é", 10): true, "配車": true,
		"": false, "  ": false, "\u2003": false, "\u3164": false, " \u2800\ufe0f": false, "\U000e0041": false,
		"\u0085": false, strings.Repeat("é", 11): false, "a\nb": false,
		"a\x00": false, "a\u009bb": false, "a\x7f": false, "a\xff": false, "a\tb": false} {
		if got := plaintext.IsLine(text, 10); got != want {
			t.Errorf("%q: %v", text, got)
		}
		blank := strings.Trim(text, " \u2003\u3164\u2800\ufe0f\U000e0041") == ""
		if got := plaintext.IsOptional(text, 10); got != (want || blank) {
			t.Errorf("%q where it may be absent: %v", text, got)
		}
	}
	if plaintext.HasControls("a\r\n\tb", true) || !plaintext.HasControls("a\vb", true) ||
		!plaintext.HasControls("a\u0085b", true) {
		t.Error("line breaks and tabs alone may be in a text of several lines")
	}
}
