package settings_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/data/table"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
)

// amounts returns the paths of a type's members that are amounts of money, by their
// documentation, and those of its other numbers.
func amounts(of reflect.Type, path string) (inCurrency, others []string) {
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		member := strings.TrimPrefix(path+"."+name, ".")
		kind := f.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		switch {
		case f.Anonymous:
			m, o := amounts(kind, path)
			inCurrency, others = append(inCurrency, m...), append(others, o...)
		case kind == reflect.TypeFor[money.Amount]() && strings.Contains(f.Tag.Get("doc"), "currency units"):
			inCurrency = append(inCurrency, member)
		case kind == reflect.TypeFor[money.Amount]():
			others = append(others, member)
		case kind.Kind() == reflect.Struct:
			m, o := amounts(kind, member)
			inCurrency, others = append(inCurrency, m...), append(others, o...)
		}
	}
	return inCurrency, others
}

// patchOf returns the patch of one member.
func patchOf(path, value string) string {
	group, member, _ := strings.Cut(path, ".")
	return fmt.Sprintf(`{%q:{%q:%s}}`, group, member, value)
}

// TestAmounts: every amount of the settings has the currency's decimals and is at most
// the company's largest fare. A stored one that breaks the rule stays, and blocks no
// change of another member.
func TestAmounts(t *testing.T) {
	every, others := amounts(reflect.TypeFor[settings.Settings](), "")
	if len(every) < 4 {
		t.Fatalf("the amounts are %v", every)
	}
	known := []string{"pricing.taxRate", "dispatch.searchRadiusKm", "routing.detourFactor", "routing.averageSpeedKmh"}
	if !slices.Equal(others, known) {
		t.Errorf("is one of %v an amount? Then its documentation says currency units", others)
	}
	for currency, c := range map[string]struct{ good, fine, largest, above, float, is string }{
		"USD": {"2.5", "2.505", "300", "300.01", "12.440000000000001", "12.44"},
		"JPY": {"250", "0.4", "300", "301", "12.0000000000001", "12"},
		"KWD": {"2.505", "2.5055", "300", "300.001", "12.4440000000001", "12.444"},
	} {
		s, tn, token := company(t, currency, "300")
		for _, path := range every {
			for _, wrong := range []string{c.fine, c.above, "999999999999", "-1"} {
				a := s.Want(http.StatusBadRequest, nil, "PATCH", "/api/v1/settings", token, patchOf(path, wrong))
				if got := faultFields(t, a); got != "body."+path {
					t.Errorf("%s: %s of %s: the fault is of %q: %s", currency, wrong, path, got, a.Body)
				}
			}
			for value, want := range map[string]string{c.good: c.good, c.largest: c.largest, "0": "0", c.float: c.is} {
				s.Want(http.StatusOK, nil, "PATCH", "/api/v1/settings", token, patchOf(path, value))
				if got := stored(t, tn, path); got != want {
					t.Errorf("%s: %s of %s is stored as %s", currency, value, path, got)
				}
			}
			keeps(t, s, tn, token, path, c.fine)
			keeps(t, s, tn, token, path, "999999999999")
		}
	}
}

// company returns a company with a currency and a largest fare, and an editor's token.
func company(t *testing.T, currency, largest string) (*apitest.Stand, table.Tenant, string) {
	t.Helper()
	s, _, _ := stand(t)
	tn := s.Tenant(currency, 1)
	testkit.Must(t, tn.Load(t.Context(), table.Item{Key: tenant.Key(tn), Type: "tenant", Version: 1,
		Doc: tenant.Tenant{Currency: currency, MaxFare: money.Amount(largest), Timezone: "UTC"}}))
	tx := tn.Write()
	tenant.SetFlags(tx, tn, map[string]any{"maxFare": largest})
	testkit.Must(t, tx.Commit(t.Context()))
	return s, tn, s.Token(tn, authz.Dashboard, ids.New(ids.Person, apitest.Start), "VIEW_SETTINGS", "EDIT_SETTINGS")
}

// stored returns a member of the stored settings.
func stored(t *testing.T, tn table.Tenant, path string) string {
	t.Helper()
	it, err := tn.Get(t.Context(), settings.Key(tn))
	testkit.Must(t, err)
	d, err := settings.Kind.FromItem(it)
	testkit.Must(t, err)
	text, err := json.Marshal(d)
	testkit.Must(t, err)
	var groups map[string]json.RawMessage
	testkit.Must(t, json.Unmarshal(text, &groups))
	group, member, _ := strings.Cut(path, ".")
	var members map[string]json.RawMessage
	testkit.Must(t, json.Unmarshal(groups[group], &members))
	return string(members[member])
}

// keeps stores a wrong amount as an older build could, and changes other members.
func keeps(t *testing.T, s *apitest.Stand, tn table.Tenant, token, path, wrong string) {
	t.Helper()
	d := settings.Default
	testkit.Must(t, json.Unmarshal([]byte(patchOf(path, wrong)), &d))
	testkit.Must(t, tn.Load(t.Context(), settings.Kind.Item(tn, "", d)))
	for _, body := range []string{`{"dispatch":{"waveSize":3}}`, `{"payments":{"cash":false},"taxiEnabled":true}`,
		patchOf(path, wrong)} {
		s.Want(http.StatusOK, nil, "PATCH", "/api/v1/settings", token, body)
		if got := stored(t, tn, path); got != wrong {
			t.Errorf("%s is %s after %s, not %s", path, got, body, wrong)
		}
	}
	a := s.Want(http.StatusBadRequest, nil, "PATCH", "/api/v1/settings", token, patchOf(path, wrong+"9"))
	if got := faultFields(t, a); got != "body."+path {
		t.Errorf("another wrong amount: %s", a.Body)
	}
	s.Want(http.StatusOK, nil, "PATCH", "/api/v1/settings", token, patchOf(path, "1"))
}

// TestPricesOfServices: the same holds for a service type's prices, but that a price of a
// kilometre or a minute may be finer than the currency.
func TestPricesOfServices(t *testing.T) {
	s, tn, token := company(t, "USD", "300")
	for _, member := range []string{"baseFare", "minimumFare", "perKm", "perMinute"} {
		fine := map[bool]int{true: 201, false: 400}[strings.HasPrefix(member, "per")]
		for value, want := range map[string]int{"2.505": fine, "2.5": 201, "300": 201, "300.01": 400, "999999999999": 400} {
			a := s.Insist("POST", "/api/v1/services", token, fmt.Sprintf(`{"name":"Van","perKm":1,%q:%s}`, member, value))
			if member == "perKm" {
				a = s.Insist("POST", "/api/v1/services", token, fmt.Sprintf(`{"name":"Van","perKm":%s}`, value))
			}
			if a.Status != want || want == 400 && faultFields(t, a) != "body."+member {
				t.Errorf("%s of %s: %d %s", member, value, a.Status, a.Body)
			}
		}
		old := settings.Service{CommissionRate: "0.2", ServiceType: settings.ServiceType{
			ID: ids.New(ids.Service, apitest.Start), Name: "Old", PerKm: "1", Capacity: 4, Active: true}}
		price := map[string]*money.Amount{"baseFare": &old.BaseFare, "minimumFare": &old.MinimumFare, "perKm": &old.PerKm,
			"perMinute": &old.PerMinute}[member]
		*price = "999999999999.005"
		testkit.Must(t, tn.Load(t.Context(), settings.ServiceKind.Item(tn, "", old)))
		path := "/api/v1/services/" + old.ID
		var got map[string]any
		s.Want(http.StatusOK, &got, "PATCH", path, token, `{"capacity":6}`)
		if fmt.Sprint(got[member]) != "999999999999.005" {
			t.Errorf("%s is %v", member, got[member])
		}
		s.Want(http.StatusBadRequest, nil, "PATCH", path, token, fmt.Sprintf(`{%q:301}`, member))
		s.Want(http.StatusOK, nil, "PATCH", path, token, fmt.Sprintf(`{%q:3}`, member))
	}
}
