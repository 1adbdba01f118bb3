package page

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc/pkg/access/authz"
)

// direction says in which direction each language is written. A new language is
// added here by hand, because a file with the wrong direction would be shown
// mirrored.
var direction = map[Lang]string{"ar": "rtl", "de": "ltr", "en": "ltr", "es": "ltr", "fr": "ltr", "pt": "ltr"}

var verbs = regexp.MustCompile(`%.`)

// strays are characters with no place in a text: markup, which the pages would
// show as it is, invisible marks of direction, which <bdi> makes needless, and
// spaces at an end.
var strays = regexp.MustCompile("[<>&\u200e\u200f\u202a-\u202e\u2066-\u2069]|^\\s|[^\\S\n]$|  ")

// Every language has every text of the English one and no other, with the same
// placeholders in the same order, and none of them is left in English.
func TestEveryLanguageHasEveryText(t *testing.T) {
	for _, lang := range langs() {
		texts := languages[lang]()
		for key, english := range languages[English]() {
			text, ok := texts[key]
			switch {
			case !ok || text == "":
				t.Errorf("languages/%s.json has no %q", lang, key)
			case !slices.Equal(verbs.FindAllString(text, -1), verbs.FindAllString(english, -1)):
				t.Errorf("languages/%s.json: %s needs the placeholders %v: %q", lang, key, verbs.FindAllString(english, -1), text)
			case lang != English && strings.Count(english, " ") > 1 && text == english:
				t.Errorf("languages/%s.json: %s is in English", lang, key)
			case strays.MatchString(text):
				t.Errorf("languages/%s.json: %s has %q in it", lang, key, strays.FindString(text))
			case direction[lang] == "rtl" && strings.ContainsAny(text, ",;?") && key != "number.group":
				t.Errorf("languages/%s.json: %s has punctuation of Latin: %q", lang, key, text)
			}
		}
		for key := range texts {
			if _, ok := languages[English]()[key]; !ok {
				t.Errorf("languages/%s.json: no page shows %q", lang, key)
			}
		}
		if direction[lang] != texts["dir"] {
			t.Errorf("languages/%s.json: dir is %q, and this test says %q", lang, texts["dir"], direction[lang])
		}
	}
}

// between is what a template has of its own between the texts: neither actions nor elements.
var between = regexp.MustCompile(`(?s)\{\{.*?\}\}|<script.*?</script>|<[^>]*>`)

// A template joins texts by signs that every script has. Arabic has other commas,
// semicolons and question marks than Latin.
func TestTemplatesFitEveryScript(t *testing.T) {
	files, err := filepath.Glob("templates/*.html")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if own := between.ReplaceAllString(string(text), ""); strings.ContainsAny(own, ",;:?!") {
			t.Errorf("%s has punctuation of one script: %q", file, strings.Join(strings.Fields(own), " "))
		}
	}
}

// A language file repeats no member, which would hide a text, and has the order
// of the English one, so that two files can be compared line by line.
func TestLanguageFilesAreAlike(t *testing.T) {
	want := keys(t, "en.json")
	files, err := filepath.Glob("languages/*")
	if err != nil || len(files) != len(direction) {
		t.Fatalf("%v: %v, want %d files", files, err, len(direction))
	}
	for _, file := range files {
		if got := keys(t, filepath.Base(file)); !slices.Equal(got, want) {
			t.Errorf("%s does not have the members of en.json in the same order", file)
		}
	}
}

// keys returns the names of the members of a language file, in their order.
func keys(t *testing.T, file string) (names []string) {
	t.Helper()
	body, err := os.Open(filepath.Join("languages", file))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = body.Close() }()
	d := json.NewDecoder(body)
	for n := 0; ; n++ {
		token, err := d.Token()
		if err != nil {
			return names
		}
		if text, ok := token.(string); ok && n%2 == 1 {
			names = append(names, text)
		}
	}
}

func TestEveryScopeHasAText(t *testing.T) {
	for _, audience := range authz.Audiences {
		for _, scope := range authz.Scopes(audience) {
			if English.scope(scope) == scope {
				t.Errorf("languages/en.json has no text for %s", scope)
			}
		}
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		name, locales, accept string
		want                  Lang
	}{
		{"nothing said", "", "", English},
		{"Spanish of a country", "", "es-MX,es;q=0.9,en;q=0.8", "es"},
		{"English first", "", "en-GB, es;q=0.9", English},
		{"by weight, not by place", "", "en;q=0.4, es;q=0.7", "es"},
		{"refused", "", "es;q=0", English},
		{"another language, then Spanish", "", "zh, es;q=0.5", "es"},
		{"any", "", "zh, *;q=0.1", English},
		{"Arabic of a country", "", "ar-EG,ar;q=0.9,en;q=0.8", "ar"},
		{"Portuguese of another country", "pt-PT", "de", "pt"},
		{"the name of no file", "../en languages", "en.json, de;q=0.2", "de"},
		{"mangled", "", ";;q=x,,es;q=zz", English},
		{"out of range", "", "es;q=7", English},
		{"ui_locales wins", "zh es", "en", "es"},
		{"ui_locales unknown", "zh", "es", "es"},
		{"not a number", "", "es;q=NaN", English},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Choose(c.locales, c.accept); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func FuzzChoose(f *testing.F) {
	f.Add("es en", "es-MX,es;q=0.9")
	f.Fuzz(func(t *testing.T, locales, accept string) {
		if lang := Choose(locales, accept); !slices.Contains(langs(), lang) {
			t.Errorf("a language without texts: %q", lang)
		}
	})
}
