package branding_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/branding"
)

const path = "/api/v1/branding"

func stand(t *testing.T) (*apitest.Stand, table.Tenant, string) {
	t.Helper()
	s := apitest.New(t, testkit.Table(t), branding.Rows()...)
	tn := s.Tenant("USD", 1)
	return s, tn, s.Token(tn, authz.Dashboard, ids.New(ids.Person, apitest.Start), authz.Permissions()...)
}

const empty = `{"appName":null,"primaryColor":null,"secondaryColor":null,"iconBackgroundColor":null,"themeMode":null,` +
	`"logoUrl":null,"faviconUrl":null,"supportUrl":null,"termsUrl":null,"privacyUrl":null}`

// An absent field stays unchanged; null clears the field.
func TestPatch(t *testing.T) {
	s, tn, token := stand(t)
	if a := s.Want(http.StatusOK, nil, "GET", path, token, ""); a.Body != empty {
		t.Errorf("before: %s", a.Body)
	}
	steps := []struct{ body, want string }{
		{`{"appName":"Metro","primaryColor":"#0B5FFF"}`, strings.NewReplacer(`"appName":null`, `"appName":"Metro"`,
			`"primaryColor":null`, `"primaryColor":"#0B5FFF"`).Replace(empty)},
		{`{"themeMode":"dark","appName":null}`, strings.NewReplacer(`"themeMode":null`, `"themeMode":"dark"`,
			`"primaryColor":null`, `"primaryColor":"#0B5FFF"`).Replace(empty)},
		{`{}`, strings.NewReplacer(`"themeMode":null`, `"themeMode":"dark"`, `"primaryColor":null`,
			`"primaryColor":"#0B5FFF"`).Replace(empty)},
		{`{"themeMode":null,"primaryColor":null,"logoUrl":null}`, empty},
	}
	for _, step := range steps {
		s.Advance(1_000_000_000)
		if a := s.Want(http.StatusOK, nil, "PATCH", path, token, step.body); a.Body != step.want {
			t.Errorf("%s:\n%s", step.body, cmp.Diff(step.want, a.Body))
		}
		if a := s.Want(http.StatusOK, nil, "GET", path, token, ""); a.Body != step.want {
			t.Errorf("read after %s: %s", step.body, a.Body)
		}
	}
	entries, _, err := audit.List(t.Context(), tn, "", 10)
	if err != nil || len(entries) != 3 {
		t.Errorf("%d audit entries, %v: a patch that changes nothing leaves none", len(entries), err)
	}
	// An audit entry contains only the fields that differ.
	if got := string(entries[1].Before) + string(entries[1].After); got !=
		`{"appName":"Metro","themeMode":null}{"appName":null,"themeMode":"dark"}` {
		t.Errorf("audit entry: %s", got)
	}
	other := s.Token(s.Tenant("EUR", 1), authz.Dashboard, ids.New(ids.Person, apitest.Start), authz.Permissions()...)
	s.Want(http.StatusOK, nil, "PATCH", path, token, `{"appName":"Metro"}`)
	if a := s.Want(http.StatusOK, nil, "GET", path, other, ""); a.Body != empty {
		t.Errorf("another tenant sees %s", a.Body)
	}
}

func TestWrongPatch(t *testing.T) {
	s, _, token := stand(t)
	tests := []struct{ name, body, field string }{
		{"no body", ``, "body"},
		{"an array", `[]`, "body"},
		{"unknown field", `{"appColour":"#fff"}`, "body.appColour"},
		{"other letter case", `{"AppName":"x"}`, "body.AppName"},
		{"number", `{"appName":5}`, "body.appName"},
		{"empty name", `{"appName":""}`, "body.appName"},
		{"blank name", `{"appName":"  "}`, "body.appName"},
		{"long name", `{"appName":"` + strings.Repeat("ä", 101) + `"}`, "body.appName"},
		{"name with a direction override", "{\"appName\":\"Metro\u202esediR\"}", "body.appName"},
		{"name with fillers", `{"appName":"Metro\u3164Cabs"}`, "body.appName"},
		{"support with a direction override", "{\"supportUrl\":\"https://metro.example/\u202eplehssel\"}", "body.supportUrl"},
		{"mail with a zero width space", `{"supportUrl":"mailto:help@metro.example?subject=a\u200bb"}`, "body.supportUrl"},
		{"terms with a tag character", `{"termsUrl":"https://metro.example/` + "\U000e0041" + `"}`, "body.termsUrl"},
		{"name of filled letters", `{"appName":"🅢🅥🅒"}`, "body.appName"},
		{"name like the platform's", `{"appName":"ꓢꓦꓚ Security"}`, "body.appName"},
		{"colour without #", `{"primaryColor":"0B5FFF"}`, "body.primaryColor"},
		{"colour of five", `{"secondaryColor":"#abcde"}`, "body.secondaryColor"},
		{"colour of seven", `{"secondaryColor":"#abcdef0"}`, "body.secondaryColor"},
		{"colour with more", `{"iconBackgroundColor":"#abcabc;x"}`, "body.iconBackgroundColor"},
		{"colour with a line end", `{"primaryColor":"#abc\n"}`, "body.primaryColor"},
		{"named colour", `{"primaryColor":"red"}`, "body.primaryColor"},
		{"theme", `{"themeMode":"blue"}`, "body.themeMode"},
		{"http", `{"logoUrl":"http://cdn.example/l.svg"}`, "body.logoUrl"},
		{"javascript", `{"supportUrl":"javascript:alert(1)"}`, "body.supportUrl"},
		{"an icon over http", `{"faviconUrl":"http://cdn.example/l.svg"}`, "body.faviconUrl"},
		{"a page as a logo", `{"logoUrl":"data:text/html;base64,PHNjcmlwdD4="}`, "body.logoUrl"},
		{"an image not in base64", `{"faviconUrl":"data:image/svg+xml,%3Csvg/%3E"}`, "body.faviconUrl"},
		{"an image with a script", `{"logoUrl":"data:image/png;base64,AA==\"onload=x"}`, "body.logoUrl"},
		{"a large image", `{"logoUrl":"data:image/png;base64,` + strings.Repeat("A", 2000) + `"}`, "body.logoUrl"},
		{"a support page as an image", `{"supportUrl":"data:image/png;base64,AAAA"}`, "body.supportUrl"},
		{"a logo by mail", `{"logoUrl":"mailto:help@metro.example"}`, "body.logoUrl"},
		{"terms by mail", `{"termsUrl":"mailto:help@metro.example"}`, "body.termsUrl"},
		{"privacy by phone", `{"privacyUrl":"tel:+12125550181"}`, "body.privacyUrl"},
		{"mail to nobody", `{"supportUrl":"mailto:"}`, "body.supportUrl"},
		{"mail to no address", `{"supportUrl":"mailto:help"}`, "body.supportUrl"},
		{"a phone that is none", `{"supportUrl":"tel:help"}`, "body.supportUrl"},
		{"data", `{"supportUrl":"data:text/html,x"}`, "body.supportUrl"},
		{"no host", `{"termsUrl":"https:///terms"}`, "body.termsUrl"},
		{"user in it", `{"privacyUrl":"https://metro@evil.example"}`, "body.privacyUrl"},
		{"a space in it", `{"faviconUrl":"https://cdn.example/a b"}`, "body.faviconUrl"},
		{"long", `{"logoUrl":"https://cdn.example/` + strings.Repeat("a", 2000) + `"}`, "body.logoUrl"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			a := s.Do("PATCH", path, token, tc.body)
			if a.Status != http.StatusBadRequest || a.Code() != "invalid_request" ||
				!strings.Contains(a.Body, `"field":"`+tc.field+`"`) {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	}
	if got := s.Want(http.StatusOK, nil, "GET", path, token, ""); got.Body != empty {
		t.Errorf("something was written: %s", got.Body)
	}
}

// A response names every wrong field of a patch.
func TestEveryFaultOfAPatch(t *testing.T) {
	s, _, token := stand(t)
	a := s.Do("PATCH", path, token, `{"primaryColor":"red","logoUrl":"http://x.example","supportUrl":"nonsense",`+
		`"appName":"ꓢꓦꓚ","colour":1,"termsUrl":"https://x.example","privacyUrl":5}`)
	var body struct{ Details []struct{ Field string } }
	a.Decode(t, &body)
	var fields []string
	for _, d := range body.Details {
		fields = append(fields, d.Field)
	}
	slices.Sort(fields)
	if diff := cmp.Diff([]string{"body.appName", "body.colour", "body.logoUrl", "body.primaryColor", "body.privacyUrl",
		"body.supportUrl"}, fields); diff != "" {
		t.Errorf("not every fault, or more: %s", diff)
	}
}

func TestAccepted(t *testing.T) {
	s, _, token := stand(t)
	for _, body := range []string{`{"primaryColor":"#abc"}`, `{"primaryColor":"#ABCDEF"}`, `{"appName":"` +
		strings.Repeat("ä", 100) + `"}`,
		`{"logoUrl":"https://cdn.example:8443/a%20b.svg?x=1#y"}`, `{"logoUrl":"data:image/svg+xml;base64,PHN2Zy8+"}`, `{"themeMode":"system"}`,
		`{"supportUrl":"https://hilfe.müller.example/"}`, `{"primaryColor":"#abcd"}`, `{"secondaryColor":"#0B5FFF80"}`,
		`{"supportUrl":"mailto:help@metro.example?subject=Help%20me"}`, `{"supportUrl":"tel:+1-212-555-0181"}`,
		`{"supportUrl":"http://metro.example/help"}`, `{"termsUrl":"http://metro.example/terms"}`,
		`{"privacyUrl":"http://metro.example/privacy"}`} {
		s.Want(http.StatusOK, nil, "PATCH", path, token, body)
	}
}

// Concurrent patches of different fields all take effect.
func TestPatchRace(t *testing.T) {
	s, tn, token := stand(t)
	bodies := []string{`{"appName":"Metro"}`, `{"primaryColor":"#111"}`, `{"secondaryColor":"#222"}`,
		`{"iconBackgroundColor":"#333"}`, `{"themeMode":"dark"}`,
		`{"logoUrl":"https://a.example"}`, `{"faviconUrl":"https://b.example"}`, `{"supportUrl":"https://c.example"}`,
		`{"termsUrl":"https://d.example"}`, `{"privacyUrl":"https://e.example"}`}
	var wg sync.WaitGroup
	for _, body := range bodies {
		wg.Go(func() {
			if a := s.Insist("PATCH", path, token, body); a.Status != http.StatusOK {
				t.Errorf("%s: %d %s", body, a.Status, a.Body)
			}
		})
	}
	wg.Wait()
	b, err := branding.Kind.Get(t.Context(), tn.Get, branding.Key(tn))
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, p := range []*string{b.AppName, b.PrimaryColor, b.SecondaryColor, b.IconBackgroundColor, b.ThemeMode, b.LogoURL,
		b.FaviconURL, b.SupportURL, b.TermsURL, b.PrivacyURL} {
		if p == nil {
			t.Fatalf("a patch is lost: %+v", b)
		}
		got += *p + " "
	}
	if want := "Metro #111 #222 #333 dark https://a.example https://b.example https://c.example https://d.example " +
		"https://e.example "; got != want {
		t.Error(cmp.Diff(want, got))
	}
	if entries, _, err := audit.List(t.Context(), tn, "", 100); err != nil || len(entries) != len(bodies) {
		t.Error(fmt.Sprint(len(entries), " audit entries"), err)
	}
}
