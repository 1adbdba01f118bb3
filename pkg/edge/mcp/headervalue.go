package mcp

import (
	"encoding/base64"
	"strings"
)

// headerValue decodes a header that may be in the Base64 form (revision
// 2026-07-28, "Value Encoding").
func headerValue(value string) (string, bool) {
	inner, ok := strings.CutPrefix(value, "=?base64?")
	if !ok {
		return value, true
	}
	inner, ok = strings.CutSuffix(inner, "?=")
	if !ok {
		return value, true
	}
	text, err := base64.StdEncoding.DecodeString(inner)
	return string(text), err == nil
}
