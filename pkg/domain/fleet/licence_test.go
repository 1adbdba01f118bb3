package fleet_test

import (
	"net/http"
	"testing"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/audit"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/fleet"
	"svc/pkg/domain/settings"
)

// TestLicence: where the company asks for a valid licence, a driver whose licences have all
// expired or been rejected stays offline. Other documents, and a second licence, do not matter.
func TestLicence(t *testing.T) {
	s := apitest.New(t, testkit.Table(t), driver.Rows()...)
	tn, by := s.Tenant("USD", 1), audit.By{Who: "svc:test", At: apitest.Start}
	text := func(v string) *string { return &v }
	for _, c := range []struct {
		name, setting string
		documents     []fleet.DriverDocumentEdit
		online        bool
	}{
		{"any", settings.AnyLicence, []fleet.DriverDocumentEdit{{Kind: "DRIVING_LICENCE", State: text("REJECTED")}}, true},
		{"none", settings.ValidLicence, nil, true},
		{"rejected", settings.ValidLicence, []fleet.DriverDocumentEdit{{Kind: "DRIVING_LICENCE", State: text("REJECTED")}},
			false},
		{"expired", settings.ValidLicence, []fleet.DriverDocumentEdit{{Kind: "DRIVING_LICENCE", State: text("APPROVED"),
			ExpiresOn: text("2026-02-28")}}, false},
		{"the last day", settings.ValidLicence, []fleet.DriverDocumentEdit{{Kind: "DRIVING_LICENCE",
			ExpiresOn: text("2026-03-01")}}, true},
		{"an insurance", settings.ValidLicence, []fleet.DriverDocumentEdit{{Kind: "INSURANCE",
			State: text("REJECTED")}}, true},
		{"a second one", settings.ValidLicence, []fleet.DriverDocumentEdit{{Kind: "DRIVING_LICENCE",
			State: text("REJECTED")}, {Kind: "DRIVING_LICENCE"}}, true},
	} {
		_, err := settings.Set(t.Context(), tn, by, func(d *settings.Document) error {
			d.Dispatch.DriverLicence = c.setting
			return nil
		})
		testkit.Must(t, err)
		r, err := driver.Create(t.Context(), tn, by, driver.Record{Driver: driver.Driver{FirstName: "Ana",
			Email: ids.New(ids.Driver, s.Now()) + "@metro.example"}}, "hash")
		testkit.Must(t, err)
		for _, d := range c.documents {
			_, err := fleet.AddDocument(t.Context(), tn, by, r.ID, fleet.DriverDocument{DriverDocumentEdit: d})
			testkit.Must(t, err)
		}
		token := s.Token(tn, authz.Driver, r.ID)
		for status, allowed := range map[string]bool{`{"online":true}`: c.online, `{"status":"BUSY"}`: c.online,
			`{"online":false}`: true} {
			want := http.StatusOK
			if !allowed {
				want = http.StatusConflict
			}
			if a := s.Do(http.MethodPatch, "/api/v1/me/status", token, status); a.Status != want {
				t.Errorf("%s: %s: %d %s", c.name, status, a.Status, a.Body)
			}
		}
	}
}
