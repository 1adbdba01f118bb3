package page

import (
	"strconv"
	"strings"
)

// Lang is a language of the pages.
type Lang string

// The available languages.
const (
	English Lang = "en"
	Spanish Lang = "es"
)

// Choose returns the language of a page: the first available language of
// ui_locales (OpenID Connect Core section 3.1.2.1), else the available language
// that Accept-Language prefers (RFC 9110 section 12.5.4), else English.
func Choose(uiLocales, acceptLanguage string) Lang {
	for _, tag := range strings.Fields(uiLocales) {
		if lang, ok := known(tag); ok {
			return lang
		}
	}
	best, weight := English, 0.0
	for part := range strings.SplitSeq(acceptLanguage, ",") {
		tag, params, _ := strings.Cut(part, ";")
		q := quality(params)
		if lang, ok := known(strings.TrimSpace(tag)); ok && q > weight {
			best, weight = lang, q
		}
	}
	return best
}

func known(tag string) (Lang, bool) {
	primary, _, _ := strings.Cut(strings.ToLower(tag), "-")
	switch lang := Lang(primary); lang {
	case English, Spanish:
		return lang, true
	case "*":
		return English, true
	}
	return "", false
}

// quality returns the weight of a language range, 1 by default.
func quality(params string) float64 {
	text, ok := strings.CutPrefix(strings.TrimSpace(params), "q=")
	if !ok {
		return 1
	}
	q, err := strconv.ParseFloat(text, 64)
	if err != nil || !(q >= 0 && q <= 1) {
		return 0
	}
	return q
}
