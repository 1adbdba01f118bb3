package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Filter is one pattern of an event source mapping's FilterCriteria: which
// records a function gets.
type Filter struct{ pattern map[string]any }

// ParseFilter reads a pattern. It knows literals, null, prefix, suffix,
// equals-ignore-case, anything-but (of literals or a prefix), exists and $or;
// any other operator is an error, so that no pattern passes by being
// misunderstood.
func ParseFilter(pattern string) (Filter, error) {
	dec := json.NewDecoder(bytes.NewReader([]byte(pattern)))
	dec.UseNumber()
	var f Filter
	if err := dec.Decode(&f.pattern); err != nil {
		return Filter{}, fmt.Errorf("filter pattern: %w", err)
	}
	return f, check(f.pattern)
}

// check walks a pattern: objects lead to fields, arrays hold what is allowed.
func check(p map[string]any) error {
	for key, v := range p {
		switch v := v.(type) {
		case map[string]any:
			if err := check(v); err != nil {
				return err
			}
		case []any:
			if err := checkRules(key, v); err != nil {
				return err
			}
		default:
			return fmt.Errorf("filter pattern: %s must be an object or an array", key)
		}
	}
	return nil
}

func checkRules(key string, rules []any) error {
	if len(rules) == 0 {
		return fmt.Errorf("filter pattern: %s allows nothing", key)
	}
	for _, r := range rules {
		m, isRule := r.(map[string]any)
		if key == "$or" {
			if !isRule {
				return errors.New("filter pattern: $or takes patterns")
			}
			if err := check(m); err != nil {
				return err
			}
			continue
		}
		for op := range m {
			switch op {
			case "prefix", "suffix", "equals-ignore-case", "anything-but", "exists":
			default:
				return fmt.Errorf("filter pattern: the operator %s of %s is not known here", op, key)
			}
		}
	}
	return nil
}

// Match tells whether the pattern passes a decoded record.
func (f Filter) Match(record any) bool { return matchObject(f.pattern, record) }

func matchObject(pattern map[string]any, value any) bool {
	object, _ := value.(map[string]any)
	for key, want := range pattern {
		have, there := object[key]
		switch want := want.(type) {
		case map[string]any:
			if !matchObject(want, have) {
				return false
			}
		case []any:
			if key == "$or" {
				if !matchAnyObject(want, value) {
					return false
				}
			} else if !matchAny(want, have, there) {
				return false
			}
		}
	}
	return true
}

func matchAnyObject(patterns []any, value any) bool {
	for _, p := range patterns {
		if m, ok := p.(map[string]any); ok && matchObject(m, value) {
			return true
		}
	}
	return false
}

// matchAny: one of the rules holds for the value, or, where the value is an
// array, for one of its elements.
func matchAny(rules []any, have any, there bool) bool {
	values := []any{have}
	if list, ok := have.([]any); ok {
		values = list
	}
	for _, rule := range rules {
		m, isRule := rule.(map[string]any)
		if exists, ok := m["exists"].(bool); ok {
			_, object := have.(map[string]any)
			if (there && !object) == exists { // exists is about leaves
				return true
			}
			continue
		}
		if !there {
			continue
		}
		for _, v := range values {
			if isRule && matchRule(m, v) || !isRule && equal(rule, v) {
				return true
			}
		}
	}
	return false
}

func matchRule(rule map[string]any, v any) bool {
	s, isString := v.(string)
	for op, arg := range rule {
		text, _ := arg.(string)
		ok := false
		switch op {
		case "prefix":
			ok = isString && strings.HasPrefix(s, text)
		case "suffix":
			ok = isString && strings.HasSuffix(s, text)
		case "equals-ignore-case":
			ok = isString && strings.EqualFold(s, text)
		case "anything-but":
			ok = !matchAny(listed(arg), v, true)
		}
		if !ok {
			return false
		}
	}
	return true
}

func listed(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

func equal(want, have any) bool {
	if n, ok := want.(json.Number); ok {
		f, err := n.Float64()
		h, isNumber := have.(float64)
		return err == nil && isNumber && f == h
	}
	return want == have
}
