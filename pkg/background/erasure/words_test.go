package erasure_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"svc"
	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/base/ids"
)

// texts is the part of a JSON schema that says which texts a body takes.
type texts struct {
	Ref        string            `json:"$ref"`
	Type       any               `json:"type"`
	Enum       []any             `json:"enum"`
	Pattern    string            `json:"pattern"`
	Format     string            `json:"format"`
	Properties map[string]*texts `json:"properties"`
}

// operation is an operation of the OpenAPI document.
type operation struct {
	method, path string
	body         *texts // nil for none
}

// operations are the document's operations under /api/v1, by identifier.
var operations = sync.OnceValue(func() map[string]operation {
	var doc struct {
		Paths map[string]map[string]struct {
			ID   string `json:"operationId"`
			Body struct {
				Content map[string]struct{ Schema *texts }
			} `json:"requestBody"`
		}
		Components struct{ Schemas map[string]*texts }
	}
	if err := json.Unmarshal(svc.OpenAPI, &doc); err != nil {
		panic(err)
	}
	var resolved func(s *texts) *texts
	resolved = func(s *texts) *texts {
		for s != nil && s.Ref != "" {
			s = doc.Components.Schemas[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]]
		}
		if s != nil {
			for name, member := range s.Properties {
				s.Properties[name] = resolved(member)
			}
		}
		return s
	}
	out := map[string]operation{}
	for path, methods := range doc.Paths {
		for method, o := range methods {
			if strings.HasPrefix(path, "/api/v1/") {
				out[o.ID] = operation{strings.ToUpper(method), path, resolved(o.Body.Content["application/json"].Schema)}
			}
		}
	}
	return out
})

func (s *texts) is(kind string) bool { return strings.Contains(fmt.Sprint(s.Type), kind) }

// words reports whether people may write what they like into a member.
func (s *texts) words(name string) bool {
	lower := strings.ToLower(name)
	return s.is("string") && len(s.Enum) == 0 && s.Format == "" && name != "id" && !strings.HasSuffix(lower, "at") &&
		(name == "externalId" || !strings.HasSuffix(name, "Id")) && name != "scheduledFor"
}

// marker is a text that is nowhere else. A place that has any of the forms has it, in
// whatever letter case and encoding.
type marker struct {
	said  string // where the person's story has it, as in "svc_rate_trip comment"
	text  string
	forms []string
}

// said has the markers of one person.
type said struct {
	tenant string // identifier
	all    []marker
}

const consonants = "bcdfghjkmnpqrstvwxz"

// letters returns letters that stand together in no other text.
func letters(n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = consonants[rand.IntN(len(consonants))]
	}
	return string(out)
}

// coded returns the three forms that base64 has of a text, by where it begins.
func coded(text string) (out []string) {
	for skip := range 3 {
		whole := base64.RawStdEncoding.EncodeToString([]byte("..."[:skip] + text))
		out = append(out, whole[(skip*8+5)/6:len(whole)-2])
	}
	return out
}

// numbers are the first four digits of the markers that are numbers, in a random order. Each is
// drawn once, because two numbers drawn apart are now and then alike.
var (
	numbers = rand.Perm(9000)
	drawn   atomic.Int64
)

// word adds a marker for a member, in the form that the member needs.
func (w *said) word(where, name string, s *texts) string {
	number := numbers[drawn.Add(1)]
	// The fifth digit is not 0: a number loses the zeros at its end.
	core, digits := letters(9), fmt.Sprintf("%04d%02d", 1000+number, 10+rand.IntN(90))
	m := marker{said: where + " " + name, text: "Z\u00e9" + strings.ToUpper(core[:1]) + core[1:] + " \u0141\u00f3",
		forms: append(coded(core), core)}
	lower := strings.ToLower(name)
	switch {
	case strings.Contains(lower, "phone"):
		m.text, m.forms = "01512 3"+digits, []string{"15123" + digits, "1512 3" + digits, digits[:3] + " " + digits[3:]}
	case strings.Contains(lower, "email"):
		m.text = core + "@" + core + ".example"
	case strings.HasSuffix(name, "Url"):
		m.text = "https://" + core + ".example/" + core
	case s != nil && strings.HasSuffix(s.Pattern, "{1,4}$"):
		m.text = strings.ToUpper(core[:4])
		m.forms = []string{`"` + m.text + `"`}
	case s != nil && strings.HasSuffix(s.Pattern, "{4}$"):
		m.text = digits[:4]
		m.forms = []string{`"` + m.text + `"`}
	case s != nil && strings.HasPrefix(s.Pattern, "^[0-9]{4}-"):
		m.text = fmt.Sprintf("%d-%02d-%02d", 2130+number/28/12, 1+number/28%12, 1+number%28)
		m.forms = []string{m.text}
	case strings.HasSuffix(lower, "lat"):
		m.text, m.forms = "52.4"+digits, []string{"52.4" + digits[:5]}
	case strings.HasSuffix(lower, "lng"):
		m.text, m.forms = "13.4"+digits, []string{"13.4" + digits[:5]}
	case name == "key": // of a request
		m.text, m.forms = core, append(m.forms, ids.Hash(core))
	}
	switch {
	case name == "externalId":
		m.forms = append(m.forms, ids.Hash(w.tenant+"\x00"+m.text))
	case strings.Contains(lower, "phone"):
		m.forms = append(m.forms, ids.Hash(w.tenant+"\x0049"+m.forms[0]))
	}
	w.all = append(w.all, m)
	return m.text
}

// body returns a body with every text that the operation takes. fixed has the members
// that a story chooses; nil leaves one out.
func (w *said) body(id string, fixed map[string]any) string {
	s, out := operations()[id].body, map[string]any{}
	if s == nil {
		return ""
	}
	maps.Copy(out, fixed)
	maps.DeleteFunc(out, func(_ string, value any) bool { return value == nil })
	for name, member := range s.Properties {
		_, chosen := fixed[name]
		lower := strings.ToLower(name)
		switch {
		case chosen:
		case member.words(name):
			out[name] = w.word(id, name, member)
		case name == "metadata":
			out[name] = map[string]string{w.word(id, "metadata's name", nil): w.word(id, "metadata's text", nil)}
		case member.is("number") && (strings.HasSuffix(lower, "lat") || strings.HasSuffix(lower, "lng")):
			out[name] = json.Number(w.word(id, name, member))
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// story sends the requests of lives, and notes which operations they had.
type story struct {
	*apptest.Service
	called map[string]bool
}

// tell sends the operation with every text that it takes. path has the values of the
// parameters in the path.
func (y *story) tell(t *testing.T, w *said, token, id string, fixed map[string]any, path ...string) []byte {
	t.Helper()
	o, ok := operations()[id]
	if !ok {
		t.Fatalf("there is no operation %s", id)
	}
	q := apptest.Request{Method: o.method, Path: o.path, Token: token, Body: w.body(id, fixed)}
	for _, value := range path {
		begin, end := strings.IndexByte(q.Path, '{'), strings.IndexByte(q.Path, '}')
		q.Path = q.Path[:begin] + value + q.Path[end+1:]
	}
	if o.method == http.MethodPost {
		q.Header = map[string]string{"Idempotency-Key": w.word(id, "key", nil)}
	}
	y.called[id] = true
	a := y.Do(t, q)
	if a.Status >= 300 {
		t.Fatalf("%s: %d %s\n%s", id, a.Status, a.Body, q.Body)
	}
	return a.Body
}

// idOf returns the identifier in a response.
func idOf(t *testing.T, body []byte) string {
	t.Helper()
	var out struct{ ID string }
	testkit.Must(t, json.Unmarshal(body, &out))
	return out.ID
}

// places returns where each marker is: in the table, in the files and in the logs.
func (w *said) places(t *testing.T, s *apptest.Service) map[string][]string {
	t.Helper()
	var values []string
	for _, m := range w.all {
		values = append(values, m.forms...)
	}
	found, out := everywhere(t, s, values), map[string][]string{}
	for _, m := range w.all {
		for _, form := range m.forms {
			if len(found[form]) > 0 {
				out[m.said] = append(out[m.said], found[form]...)
			}
		}
		if where := out[m.said]; len(where) > 0 {
			slices.Sort(where)
			out[m.said] = slices.Compact(where)
		}
	}
	return out
}

// in reports whether a text has the marker.
func (m marker) in(text string) bool {
	lower := strings.ToLower(text)
	return slices.ContainsFunc(m.forms, func(form string) bool {
		return strings.Contains(text, form) || strings.Contains(lower, strings.ToLower(form))
	})
}

// everyTextIsSaid: the lives of TestNothingIsLeftOfALife call every operation that takes a
// text, or ofNobody says why not. So a new operation must get into a life, and a
// new member is in it by itself.
func everyTextIsSaid(t *testing.T, called map[string]bool) {
	t.Helper()
	for _, id := range slices.Sorted(maps.Keys(operations())) {
		o := operations()[id]
		takes := false
		if o.body != nil {
			for name, member := range o.body.Properties {
				takes = takes || member.words(name) || len(member.Properties) > 0
			}
		}
		if takes && !called[id] && ofNobody[id] == "" {
			t.Errorf("%s takes texts: put it into a life, or say in ofNobody of whom they tell", id)
		}
		if ofNobody[id] != "" && (!takes || called[id]) {
			t.Errorf("%s is in ofNobody, and takes no text or is in a life", id)
		}
	}
}
