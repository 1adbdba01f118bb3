package clients

import (
	"strings"
	"unicode/utf8"

	"svc/pkg/base/lookalike"
)

// checkName rejects names that a person could misread on the consent page: the
// platform's own name, control and direction characters, blanks.
func checkName(name string) error {
	switch {
	case strings.TrimSpace(name) == "" || utf8.RuneCountInString(name) > longestName || len(name) > 4*longestName:
		return badMetadata("client_name must have 1 to %d characters.", longestName)
	case lookalike.Unshowable(name):
		return badMetadata("client_name contains a character that cannot be shown.")
	case lookalike.OfPlatform(name):
		return badMetadata("client_name must not look like the platform's own.")
	}
	return nil
}
