package mcp

import (
	"encoding/base64"
	"strings"
)

// headerValue returns the text of a header that may be in the form =?base64?TEXT?=
// (MCP revision 2026-07-28, "Value Encoding"). It returns false if TEXT is not Base64.
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
