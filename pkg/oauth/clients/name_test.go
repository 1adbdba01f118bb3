package clients

import (
	"strings"
	"testing"
)

// A client's name must not look like the platform's own, in any script.
func TestNamesLikeThePlatform(t *testing.T) {
	for name, want := range map[string]bool{
		"ꓢꓦꓚ Security": false, "ꜱᴠᴄ": false, "S V C Support": false, "svc": false, "5vc": false, "Official Support": false,
		"Planner\u202e": false, " ": false, strings.Repeat("a", 101): false,
		"Planner": true, "Metro Services": true, "Ana's App": true, "Приложение": true,
	} {
		if err := checkName(name); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}
