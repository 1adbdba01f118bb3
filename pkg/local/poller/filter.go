package poller

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Filter is one pattern in the FilterCriteria of Lambda's event source mapping. It selects
// stream records.
type Filter struct{ pattern map[string]any }

// ParseFilter parses a pattern: objects select fields, arrays list the strings
// that a field may have. Lambda supports more. For any other pattern ParseFilter
// returns an error, so that no record passes a pattern that it cannot apply.
func ParseFilter(pattern string) (Filter, error) {
	var f Filter
	if err := json.Unmarshal([]byte(pattern), &f.pattern); err != nil {
		return Filter{}, fmt.Errorf("filter pattern: %w", err)
	}
	return f, check(f.pattern)
}

// check returns an error if a pattern has a rule that match cannot apply.
func check(pattern map[string]any) error {
	for key, v := range pattern {
		switch v := v.(type) {
		case map[string]any:
			if err := check(v); err != nil {
				return err
			}
		case []any:
			notText := func(v any) bool { _, text := v.(string); return !text }
			if len(v) == 0 || slices.ContainsFunc(v, notText) {
				return fmt.Errorf("filter pattern: %s must list strings; other rules are not supported on a local machine", key)
			}
		default:
			return fmt.Errorf("filter pattern: %s must be an object or an array", key)
		}
	}
	return nil
}

// Match reports whether a record, decoded from JSON, passes the pattern.
func (f Filter) Match(record any) bool { return match(f.pattern, record) }

// match reports whether the value has every field of the pattern, with one of the listed
// strings.
func match(pattern map[string]any, value any) bool {
	object, _ := value.(map[string]any)
	for key, want := range pattern {
		have, there := object[key]
		switch want := want.(type) {
		case map[string]any:
			if !match(want, have) {
				return false
			}
		case []any:
			if _, text := have.(string); !there || !text || !slices.Contains(want, have) {
				return false
			}
		}
	}
	return true
}
