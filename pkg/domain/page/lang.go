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

// English is the language of the pages for a person who wants none that they
// have.
const English Lang = "en"

//go:embed languages
var languageFiles embed.FS

// languages has the texts of each language by key. A file is read when its
// language is used first, because most functions show no page.
var languages = func() map[Lang]func() map[string]string {
	out := map[Lang]func() map[string]string{}
	files, _ := languageFiles.ReadDir("languages") // the embedded folder exists
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

// textOf returns the text of a key. For an unknown key it returns an error, because
// a page with a missing text must not be sent.
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

// scope returns what a scope permits an application to do. A scope without a
// text is shown by its name.
func (l Lang) scope(scope string) string {
	if text, err := l.textOf("scope." + scope); err == nil {
		return text
	}
	return scope
}

// ScopePhrase returns the consent page's English text of a scope, as in "see
// your trips".
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

func known(tag string) (Lang, bool) {
	if tag == "*" {
		return English, true
	}
	primary, _, _ := strings.Cut(strings.ToLower(tag), "-")
	_, ok := languages[Lang(primary)]
	return Lang(primary), ok
}

// quality returns the weight of a range, 1 by default.
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
