package settings_test

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/settings"
)

// faultFields returns the fields that a 400 names.
func faultFields(t *testing.T, a apitest.Answer) string {
	t.Helper()
	var body struct{ Details []struct{ Field string } }
	a.Decode(t, &body)
	var fields []string
	for _, d := range body.Details {
		fields = append(fields, d.Field)
	}
	return strings.Join(fields, " ")
}

func editor(t *testing.T) (*apitest.Stand, string) {
	t.Helper()
	s, tn, _ := stand(t)
	testkit.InRounds(t, s.DB)
	return s, s.Token(tn, authz.Dashboard, ids.New(ids.Person, apitest.Start), "VIEW_SETTINGS", "EDIT_SETTINGS")
}

func TestPatchSettings(t *testing.T) {
	s, tn, _ := stand(t)
	testkit.InRounds(t, s.DB)
	token := s.Token(tn, authz.Dashboard, ids.New(ids.Person, apitest.Start), "VIEW_SETTINGS", "EDIT_SETTINGS")
	patch := func(body string) (out settings.Overview) {
		t.Helper()
		s.Advance(time.Second)
		s.Want(http.StatusOK, &out, "PATCH", "/api/v1/settings", token, body)
		return out
	}
	got := patch(`{"pricing":{"taxRate":0.10,"cancellationFee":4},"payments":{"cash":false},"deliveryEnabled":true,
		"routing":{"url":"https://routes.example"}}`)
	if p := got.Settings.Pricing; p.TaxRate != "0.10" || p.CancellationFee != "4" || p.FreeWaitingMinutes != 5 {
		t.Errorf("pricing %+v", p)
	}
	if used := s.Last().Usage; used.Sequential != 2 {
		t.Errorf("%d round trips in sequence", used.Sequential)
	}
	got = patch(`{"pricing":{"cancellationFee":null},"payments":null,"routing":{"url":null,"engine":"valhalla"}}`)
	if p := got.Settings; p.Pricing.TaxRate != "0.10" || p.Pricing.CancellationFee != "0" || !p.Payments.Cash ||
		p.Routing.URL != nil || p.Routing.Engine != settings.Valhalla || !p.DeliveryEnabled || !p.TaxiEnabled {
		t.Errorf("after the nulls: %+v", p)
	}
	got = patch(`{"taxiEnabled":false}`)
	var read settings.Overview
	s.Want(http.StatusOK, &read, "GET", "/api/v1/settings", token, "")
	if !cmp.Equal(read, got) || read.Settings.TaxiEnabled || read.Company.Name != "Metro Rides" {
		t.Errorf("read %+v, changed to %+v", read, got)
	}
	for n := range authz.Copies {
		it, err := tn.Get(t.Context(), authz.FlagsKey(tn, n))
		if testkit.Must(t, err); it.Flag(authz.Taxi) || !it.Flag(authz.Delivery) || it.Text("name") != "Metro Rides" {
			t.Errorf("copy %d of the flags: taxi %t", n, it.Flag(authz.Taxi))
		}
	}
	patch(`{}`)
	entries, _, err := audit.List(t.Context(), tn, "", 10)
	testkit.Must(t, err)
	if len(entries) != 4 || entries[0].What != "settings.set" || !strings.Contains(string(entries[0].Before),
		`"taxiEnabled":true`) || !strings.Contains(string(entries[0].After), `"taxiEnabled":false`) {
		t.Errorf("%d entries, %s, %s", len(entries), entries[0].Before, entries[0].After)
	}
}

func TestPatchSettingsFaults(t *testing.T) {
	s, token := editor(t)
	for body, want := range map[string]string{
		`{"pricing":{"taxRate":"much","surge":1},"dispatch":{"serviceArea":"loose"},"company":{}}`: "body.company " +
			"body.dispatch.serviceArea body.pricing.surge body.pricing.taxRate",
		`{"pricing":[]}`:                                                 "body.pricing",
		`{"pricing":{"cancellationFee":1e300}}`:                          "body.pricing.cancellationFee",
		`{"routing":{"url":"http://inside"}}`:                            "body.routing.url",
		`{"routing":{"url":"https://10.0.0.5/route"}}`:                   "body.routing.url",
		`{"routing":{"url":"https://localhost/route"}}`:                  "body.routing.url",
		`{"routing":{"url":"https://①②⑦.⓪.⓪.①/route"}}`:                  "body.routing.url",
		`{"routing":{"url":"https://routes.example:99999/"}}`:            "body.routing.url",
		`{"map":{"tiles":"https://tiles.example:0/{z}/{x}/{y}"}}`:        "body.map.tiles",
		`{"map":{"tiles":"https://192.168.0.7/{z}/{x}/{y}"}}`:            "body.map.tiles",
		`{"map":{"tiles":"https://127.0.0.1:4433/style.json"}}`:          "body.map.tiles",
		`{"map":{"tiles":"https://db.internal/style.json"}}`:             "body.map.tiles",
		`{"map":{"tiles":"http://tiles.example/{z}/{x}/{y}"}}`:           "body.map.tiles",
		`{"map":{"tiles":"https://tiles.example/{z}/{x}.png"}}`:          "body.map.tiles",
		`{"map":{"tiles":"https://*/{z}/{x}/{y}"}}`:                      "body.map.tiles",
		`{"map":{"tiles":"https://a;img-src/{z}/{x}/{y}"}}`:              "body.map.tiles",
		`{"map":{"tiles":"https://a,b/{z}/{x}/{y}"}}`:                    "body.map.tiles",
		`{"map":{"tiles":"https://me:secret@tiles.example/style.json"}}`: "body.map.tiles",
		`{"map":{"tiles":"https://tiles.example/{a}/{z}/{x}/{y}"}}`:      "body.map.tiles",
		`null`: "body",
		``:     "body",
	} {
		a := s.Want(http.StatusBadRequest, nil, "PATCH", "/api/v1/settings", token, body)
		got := strings.Fields(faultFields(t, a))
		for _, field := range strings.Fields(want) {
			if !strings.Contains(" "+strings.Join(got, " ")+" ", " "+field+" ") {
				t.Errorf("%s: the faults are %v, want %s", body, got, want)
			}
		}
	}
	var now settings.Overview
	s.Want(http.StatusOK, &now, "GET", "/api/v1/settings", token, "")
	if now.Settings.Document != settings.Default {
		t.Errorf("a refused request changed %+v", now.Settings)
	}
}

// TestIfMatch: a change is made only to the state that its If-Match names, in each
// form that clients and proxies send.
func TestIfMatch(t *testing.T) {
	s, token := editor(t)
	tag := s.Want(http.StatusOK, nil, "GET", "/api/v1/settings", token, "").Header.Get("ETag")
	head := s.Want(http.StatusOK, nil, "HEAD", "/api/v1/settings", token, "").Header.Get("ETag")
	if head != tag || tag == "" {
		t.Errorf("ETag %q of GET, %q of HEAD", tag, head)
	}
	for i, form := range []string{`"TAG"`, `W/"TAG"`, `"TAG-gzip"`, `"x", "TAG"`, `"x",W/"TAG" `, "*", "TAG"} {
		match := strings.Replace(form, "TAG", strings.Trim(tag, `"`), 1)
		body := `{"pricing":{"freeWaitingMinutes":` + strconv.Itoa(10+i) + `}}`
		a := s.Want(http.StatusOK, nil, "PATCH", "/api/v1/settings", token, body, "If-Match", match)
		changed := a.Header.Get("ETag")
		if changed == tag || changed != s.Do("GET", "/api/v1/settings", token, "").Header.Get("ETag") {
			t.Errorf("%s: ETag %s after %s", match, changed, tag)
		}
		tag = changed
	}
	for _, match := range []string{`"0000000000000000"`, `""`, "", `"x", "y"`, tag[:8]} {
		a := s.Want(http.StatusPreconditionFailed, nil, "PATCH", "/api/v1/settings", token,
			`{"pricing":{"freeWaitingMinutes":99}}`, "If-Match", match)
		if a.Code() != "precondition_failed" {
			t.Errorf("%s: %s", match, a.Body)
		}
	}
	s.Want(http.StatusBadRequest, nil, "PATCH", "/api/v1/settings", token, `{"x":1}`, "If-Match", `"x"`)
	unknown := s.Do("GET", "/api/v1/settings", "none", "")
	if unknown.Header.Get("ETag") != "" {
		t.Error("a refused request has an ETag")
	}
}

// TestIfMatchRace: of the changes of one state at the same time, exactly one is
// made.
func TestIfMatchRace(t *testing.T) {
	s, token := editor(t)
	for round := range 5 {
		tag := s.Do("GET", "/api/v1/settings", token, "").Header.Get("ETag")
		var group sync.WaitGroup
		var mu sync.Mutex
		counts := map[int]int{}
		for i := range 8 {
			group.Go(func() {
				a := s.Insist("PATCH", "/api/v1/settings", token,
					`{"pricing":{"freeWaitingMinutes":`+strconv.Itoa(100*(round+1)+i)+`}}`, "If-Match", tag)
				mu.Lock()
				defer mu.Unlock()
				counts[a.Status]++
			})
		}
		group.Wait()
		if counts[http.StatusOK] != 1 || counts[http.StatusPreconditionFailed] != 7 {
			t.Errorf("statuses %v", counts)
		}
	}
}

// TestMapOrigin: the policy of the console names the one origin of the address, in the form that a browser compares.
func TestMapOrigin(t *testing.T) {
	s, token := editor(t)
	for tiles, want := range map[string]string{
		"https://tiles.example/{z}/{x}/{y}.png?key=a":    "https://tiles.example",
		"https://Tiles.Example:8443/a/{z}/{y}/{x}":       "https://tiles.example:8443",
		"https://8.8.8.8:4433/styles/streets/style.json": "https://8.8.8.8:4433",
	} {
		var out settings.Overview
		s.Want(http.StatusOK, &out, "PATCH", "/api/v1/settings", token, `{"map":{"tiles":"`+tiles+`","credit":"Example"}}`)
		if got := out.Settings.Map.Origin(); got != want || *out.Settings.Map.Tiles != tiles {
			t.Errorf("%s: %q, want %q", tiles, got, want)
		}
	}
	var out settings.Overview
	s.Want(http.StatusOK, &out, "PATCH", "/api/v1/settings", token, `{"map":null}`)
	if out.Settings.Map != (settings.BaseMap{}) || out.Settings.Map.Origin() != "" {
		t.Errorf("after null: %+v", out.Settings.Map)
	}
}

// TestStoredAddress: an address from before its rule stays, and stops no other change.
func TestStoredAddress(t *testing.T) {
	s, tn, _ := stand(t)
	token := s.Token(tn, authz.Dashboard, ids.New(ids.Person, apitest.Start), "VIEW_SETTINGS", "EDIT_SETTINGS")
	d, err := settings.Kind.FromItem(table.Item{})
	testkit.Must(t, err)
	d.Map.Tiles, d.Routing.URL = new("https://10.0.0.5/style.json"), new("https://routes.internal/")
	tx := tn.Write()
	tx.Put(settings.Kind.Item(tn, "", d))
	testkit.Must(t, tx.Commit(t.Context()))
	var out settings.Overview
	s.Want(http.StatusOK, &out, "PATCH", "/api/v1/settings", token, `{"pricing":{"freeWaitingMinutes":7}}`)
	if *out.Settings.Map.Tiles != "https://10.0.0.5/style.json" ||
		*out.Settings.Routing.URL != "https://routes.internal/" {
		t.Errorf("settings %+v", out.Settings)
	}
	s.Want(http.StatusBadRequest, nil, "PATCH", "/api/v1/settings", token, `{"map":{"tiles":"https://10.0.0.6/style.json"}}`)
}
