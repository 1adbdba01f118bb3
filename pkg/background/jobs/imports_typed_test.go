package jobs_test

import (
	"fmt"
	"strings"
	"testing"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/domain/tenant"
)

// importsThree imports three people by phone, twice: one whose number the person at the
// path typed, one whose number two persons have, and a new one. The person at the path
// then has the name of the file.
func importsThree(t *testing.T, s *apptest.Service, token, body, path, name string) {
	t.Helper()
	file := []byte("phone,name,email\n+12125550171,Own Er,\n+12125550172,Who Ever,\n" +
		"+12125550173,New One,new@metro.example\n")
	if job := imported(t, s, token, body, file); counts(job) != "DONE 1/1/0/1" {
		t.Errorf("the import: %s", counts(job))
	}
	if again := imported(t, s, token, body, file); counts(again) != "DONE 0/0/2/1" {
		t.Errorf("the same file again: %s", counts(again))
	}
	if shown := string(s.Get(t, token, path).Must(t, 200).Body); !strings.Contains(shown, name) {
		t.Errorf("the person is %s", shown)
	}
}

// TestImportFindsTypedPhones: an import by phone finds the person who typed the number
// himself, in whatever form. A number of several persons is a fault, unless the mail
// address says whose row it is.
func TestImportFindsTypedPhones(t *testing.T) {
	testkit.LongHere(t)
	t.Parallel()
	s := apptest.With(t, apptest.Options{Phones: true})
	s.Change(t, "metro", func(n *tenant.Tenant) { n.Country = "US" })
	token := s.Token(t, s.Operator(t, "metro", "boss"))
	riders := map[string]apptest.Actor{}
	for name, typed := range map[string]string{"own": "(212) 555-0171", "one": "212 555 0172", "two": "+1 212 555 0172",
		"moved": "212-555-0173"} {
		riders[name] = s.Rider(t, "metro", name)
		s.Patch(t, s.Token(t, riders[name]), "/api/v1/me", fmt.Sprintf(`{"phone": %q}`, typed)).Must(t, 200)
	}
	s.Drain(t)
	s.Patch(t, s.Token(t, riders["moved"]), "/api/v1/me", `{"phone": "212-555-0179"}`).Must(t, 200)
	s.Drain(t)
	body := `{"kind": "customers", "key": "phone"}`
	importsThree(t, s, token, body, "/api/v1/customers/"+riders["own"].ID, `"Own Er"`)
	named := "phone,name,email\n+12125550172,Two Fold," + riders["two"].Email + "\n"
	if job := imported(t, s, token, body, []byte(named)); counts(job) != "DONE 0/1/0/0" {
		t.Errorf("a number of two, with a mail address: %s", counts(job))
	}
	places := "phone,address,lat,lng\n212 555 0171,7 Hill,40.7,-74\n"
	if job := imported(t, s, token, `{"kind": "addresses", "key": "phone"}`, []byte(places)); counts(job) !=
		"DONE 1/0/0/0" {
		t.Errorf("an address: %s", counts(job))
	}
}

// TestImportFindsTypedPhonesOfDrivers: so does an import of drivers, whose numbers the
// operators typed. A number that a driver has no more leads to nobody.
func TestImportFindsTypedPhonesOfDrivers(t *testing.T) {
	testkit.LongHere(t)
	t.Parallel()
	s := apptest.With(t, apptest.Options{Phones: true})
	s.Change(t, "metro", func(n *tenant.Tenant) { n.Country = "US" })
	token := s.Token(t, s.Operator(t, "metro", "boss"))
	drivers := map[string]apptest.Actor{}
	for name, typed := range map[string]string{"own": "(212) 555-0171", "one": "212 555 0172", "two": "+1 212 555 0172"} {
		drivers[name] = s.Driver(t, "metro", name)
		s.Patch(t, token, "/api/v1/drivers/"+drivers[name].ID, fmt.Sprintf(`{"phone": %q}`, typed)).Must(t, 200)
	}
	body := `{"kind": "drivers", "key": "phone"}`
	importsThree(t, s, token, body, "/api/v1/drivers/"+drivers["own"].ID, `"Own"`)
	s.Patch(t, token, "/api/v1/drivers/"+drivers["one"].ID, `{"phone": "212 555 0174"}`).Must(t, 200)
	if job := imported(t, s, token, body, []byte("phone,name\n+12125550172,Two Fold\n+12125550174,One Alone\n")); counts(
		job) != "DONE 0/2/0/0" {
		t.Errorf("after one has another number: %s", counts(job))
	}
}
