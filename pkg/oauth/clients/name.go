package clients

import (
	"strings"
	"unicode/utf8"

	"svc/pkg/base/lookalike"
)

// checkName rejects names that a person could misread on the consent page: a
// name that looks like the platform's own, and a name with invisible or
// direction characters. It also rejects empty and long names.
func checkName(name string) error {
	switch {
	case strings.TrimSpace(name) == "" || utf8.RuneCountInString(name) > longestName || len(name) > 4*longestName:
		return badMetadata("client_name must have 1 to %d characters.", longestName)
	case lookalike.Unshowable(name):
		return badMetadata("client_name must not contain control, format or private-use characters, or line separators.")
	case lookalike.OfPlatform(name):
		return badMetadata("client_name must not look like the platform's own name.")
	}
	return nil
}
