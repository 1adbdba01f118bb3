package page

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Lang is a language of the pages: the name of a file in languages/.
type Lang string

// English is the language of pages for a person whose languages are not available.
const English Lang = "en"

//go:embed languages
var languageFiles embed.FS

// languages has the texts of each language by key. A file is read when its
// language is used first, because most functions show no page.
var languages = func() map[Lang]func() map[string]string {
	out := map[Lang]func() map[string]string{}
	files, _ := languageFiles.ReadDir("languages") // cannot fail: the folder is embedded
	for _, file := range files {
		out[Lang(strings.TrimSuffix(file.Name(), ".json"))] = sync.OnceValue(func() (texts map[string]string) {
			body, _ := languageFiles.ReadFile("languages/" + file.Name())
			if err := json.Unmarshal(body, &texts); err != nil {
				panic(fmt.Sprintf("languages/%s: %v", file.Name(), err)) // a test reads every file
			}
			return texts
		})
	}
	return out
}()

// Languages returns the languages of the pages, sorted.
func Languages() []string {
	var names []string
	for lang := range languages {
		names = append(names, string(lang))
	}
	slices.Sort(names)
	return names
}

// textOf returns the text of a key, with the args put in as fmt.Sprintf does. An unknown
// key is an error, because a page with a missing text must not be sent.
func (l Lang) textOf(key string, args ...any) (string, error) {
	text, ok := languages[l]()[key]
	if !ok {
		return "", fmt.Errorf("no text of the pages has the key %q", key)
	}
	if len(args) > 0 {
		return fmt.Sprintf(text, args...), nil
	}
	return text, nil
}

// scope returns a phrase for what a scope permits. A scope without a phrase is shown by
// its name.
func (l Lang) scope(scope string) string {
	if text, err := l.textOf("scope." + scope); err == nil {
		return text
	}
	return scope
}

// ScopePhrase returns the English phrase with which the consent page shows a scope, as in
// "see your trips".
func ScopePhrase(scope string) string { return English.scope(scope) }

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

// known returns the language of a language tag such as de-AT. It reports false if the pages
// do not have the language. The tag "*" means English.
func known(tag string) (Lang, bool) {
	if tag == "*" {
		return English, true
	}
	primary, _, _ := strings.Cut(strings.ToLower(tag), "-")
	_, ok := languages[Lang(primary)]
	return Lang(primary), ok
}

// quality returns the weight q of an element of an Accept header, from 0 to 1. params is
// what follows the element's semicolon. The weight is 1 if params has no q, and 0 if its q
// cannot be read.
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
