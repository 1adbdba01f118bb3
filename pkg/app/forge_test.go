package app_test

import "encoding/base64"

// flip returns another character of base64url.
func flip(c string) string {
	if c == "A" {
		return "B"
	}
	return "A"
}

// unsigned is a token with the payload and no signature (RFC 8725 section 2.1).
func unsigned(payload string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"at+jwt"}`)) + "." + payload + "."
}
