package erasure_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc/internal/test/apptest"
	"svc/internal/test/script"
	"svc/internal/test/testkit"
	"svc/pkg/background/projection"
	"svc/pkg/background/reconcile"
	"svc/pkg/base/phone/plans"
	"svc/pkg/domain/feedback"
	"svc/pkg/domain/privacy"
	"svc/pkg/domain/tenant"
	"svc/pkg/local/schema"
)

// erased erases a person, and returns a fresh token of the operator.
func erased(t *testing.T, s *apptest.Service, a apptest.Actor, member string) string {
	t.Helper()
	boss := s.SignIn(t, s.Operator(t, "metro", "boss")).AccessToken
	r := request(t, s, boss, fmt.Sprintf(`{"kind": "erase", %q: %q}`, member, a.ID))
	became(t, s, boss, r.ID, privacy.Ready)
	s.Post(t, boss, "/api/v1/privacy/requests/"+r.ID+"/run", "").Must(t, 200)
	became(t, s, boss, r.ID, privacy.Done)
	s.Drain(t)
	return boss
}

// absent checks that none of the values is anywhere.
func absent(t *testing.T, s *apptest.Service, values ...string) {
	t.Helper()
	for value, where := range everywhere(t, s, values) {
		t.Errorf("%q is in\n%s", value, strings.Join(where, "\n"))
	}
}

// rebuilt does what svc rebuild does of ratings, counters and phones.
func rebuilt(t *testing.T, s *apptest.Service) {
	t.Helper()
	run := &reconcile.Run{Compared: func(string, int) {}, Found: func(reconcile.Difference) {}, Correct: true}
	step := projection.Step{Now: s.Clock.Now, RankRows: feedback.RankRows}
	_, err := step.Rebuild(t.Context(), s.Tenant("metro"), nil)
	testkit.Must(t, err)
	testkit.Must(t, (&projection.Check{Run: run, Step: step}).Tenant(t.Context(), s.Tenant("metro")))
	_, _, err = projection.Phones{DB: s.DB, Read: plans.Read}.All(t.Context(), s.Tenant("metro"))
	testkit.Must(t, err)
	s.Drain(t)
}

// TestNumberOfNoPhone: the number that a phone stood for goes with the phone, whoever
// removes or replaces it, and with the person.
func TestNumberOfNoPhone(t *testing.T) {
	t.Parallel()
	s := apptest.With(t, apptest.Options{Phones: true})
	s.Change(t, "metro", func(n *tenant.Tenant) { n.Country = "DE" })
	boss, dan, eve := s.Token(t, s.Operator(t, "metro", "boss")), s.Driver(t, "metro", "dan"), s.Driver(t, "metro", "eve")
	anna := s.Rider(t, "metro", "anna")
	business := apptest.JSON[struct{ ID string }](t, s.Post(t, boss, "/api/v1/businesses", `{"name": "Wyvern",
		"category": "restaurant", "address": "7 Wyvern Mews", "lat": 52.5, "lng": 13.4, "phone": "030 901821"}`).Must(t, 201))
	paths := map[string]string{"1": "/api/v1/businesses/" + business.ID, "2": "/api/v1/drivers/" + dan.ID,
		"3": "/api/v1/drivers/" + eve.ID, "4": "/api/v1/customers/" + anna.ID}
	forms := func(n string) []string { return []string{"030 90182" + n, "4930" + "90182" + n, "03090182" + n} }
	for n, path := range paths {
		if n != "1" {
			s.Patch(t, boss, path, fmt.Sprintf(`{"phone": "030 90182%s"}`, n)).Must(t, 200)
		}
	}
	s.Drain(t)
	for n := range paths {
		for _, form := range forms(n) {
			if len(scan(t, s, []string{form})) == 0 {
				t.Errorf("the table never had %s", form)
			}
		}
	}
	for n, path := range paths {
		phone := "null"
		if n == "3" {
			phone = `"112"` // of no plan
		}
		s.Patch(t, boss, path, `{"phone": `+phone+`}`).Must(t, 200)
	}
	s.Drain(t)
	for n := range paths {
		for where := range scan(t, s, forms(n)) {
			for _, item := range scan(t, s, forms(n))[where] {
				if !strings.Contains(item, "=audit ") && !strings.Contains(item, "=suffix ") {
					t.Errorf("%s is still in %s", where, item)
				}
			}
		}
	}
	s.Patch(t, boss, paths["2"], `{"phone": "030 901829"}`).Must(t, 200)
	s.Drain(t)
	erased(t, s, dan, "driverId")
	erased(t, s, eve, "driverId")
	absent(t, s, append(append(forms("2"), forms("3")...), forms("9")...)...)
}

// TestNothingIsWrittenOfAnErasedPerson: neither the projection nor a rebuild writes the
// ratings back, an operator cannot add words, and what is written of the person's trips
// later goes with the next erasure.
func TestNothingIsWrittenOfAnErasedPerson(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	boss, anna, dan := s.Token(t, s.Operator(t, "metro", "boss")), s.Rider(t, "metro", "anna"), s.Driver(t, "metro", "dan")
	rider, driver := s.Token(t, anna), s.Token(t, dan)
	fare := func(trip, amount, reason string) {
		s.Post(t, boss, "/api/v1/trips/"+trip+"/fare", fmt.Sprintf(`{"finalFare": %s, "reason": %q}`, amount, reason)).
			Must(t, 200)
	}
	trip := s.Ride(t, rider, driver, script.Ride{Fare: "20", Asks: `"paymentType":"CASH"`})
	later := s.Ride(t, rider, driver, script.Ride{Fare: "20", Asks: `"paymentType":"CASH"`})
	s.Post(t, driver, "/api/v1/me/trips/"+trip+"/rating", `{"rating": 2, "comment": "Wyvern on the seat"}`).Must(t, 200)
	s.Post(t, rider, "/api/v1/me/trips/"+trip+"/rating", `{"rating": 4, "comment": "Gorgon at the wheel"}`).Must(t, 200)
	fare(trip, "18", "Basilisk paid the toll")
	s.Drain(t)
	boss = erased(t, s, anna, "customerId")
	absent(t, s, "Wyvern", "Gorgon", "Basilisk")
	// A rating and a correction of later.
	s.Post(t, driver, "/api/v1/me/trips/"+later+"/rating", `{"rating": 1, "comment": "Chimera in the boot"}`).Must(t, 200)
	fare(later, "17", "Hippogriff paid the toll")
	s.Drain(t)
	for range 2 {
		verify(t, s)
		rider := s.Get(t, boss, "/api/v1/customers/"+anna.ID).Must(t, 200)
		if !strings.Contains(string(rider.Body), `"rating":null`) {
			t.Errorf("the erased rider is %s", rider.Body)
		}
		rebuilt(t, s)
	}
	for path, body := range map[string]string{
		"/api/v1/wallets/postings": fmt.Sprintf(`{"customerId": %q, "type": "TOP_UP", "amount": 5,
			"description": "for Cockatrice"}`, anna.ID),
		"/api/v1/trips": fmt.Sprintf(`{"customerId": %q, "originAddress": "Cockatrice", "originLat": 40.7, "originLng": -74,
			"paymentType": "CASH"}`, anna.ID),
	} {
		if got := s.Post(t, boss, path, body); got.Status < 400 || got.Status >= 500 {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
	}
	boss = erased(t, s, anna, "customerId")
	absent(t, s, "Wyvern", "Gorgon", "Basilisk", "Chimera", "Hippogriff", "Cockatrice")
	erased(t, s, dan, "driverId")
	s.Post(t, boss, "/api/v1/drivers/"+dan.ID+"/documents", `{"kind": "OTHER", "numberLast4": "Q9Z7"}`).Must(t, 409)
	s.Post(t, boss, "/api/v1/wallets/postings", fmt.Sprintf(`{"driverId": %q, "type": "TOP_UP", "amount": 5,
		"description": "for Cockatrice"}`, dan.ID)).Must(t, 409)
	rebuilt(t, s)
	verify(t, s)
	absent(t, s, "Wyvern", "Gorgon", "Basilisk", "Chimera", "Hippogriff", "Cockatrice", "Q9Z7")
	s.Clock.Advance(3 * time.Minute)
	testkit.Must(t, s.Runtime.Scheduled()["JobsFunction"](t.Context())) // the second runs
	s.Drain(t)
	verify(t, s)
}

// TestErasedSessionsOfOlderBuilds: sessions without an index entry, as builds before
// version 1.1.0 stored them, go too. Those of others stay.
func TestErasedSessionsOfOlderBuilds(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	anna, ada := s.Rider(t, "metro", "anna"), s.Rider(t, "metro", "ada")
	for range 3 {
		s.SignIn(t, anna)
	}
	s.SignIn(t, ada)
	endpoint, name := s.Stored()
	client, _ := schema.Clients(endpoint)
	older := 0
	for pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &name}); pages.HasMorePages(); {
		page, err := pages.NextPage(t.Context())
		testkit.Must(t, err)
		for _, it := range page.Items {
			if kind, _ := it["type"].(*types.AttributeValueMemberS); kind == nil || kind.Value != "session" {
				continue
			}
			_, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: &name,
				Key:              map[string]types.AttributeValue{"pk": it["pk"], "sk": it["sk"]},
				UpdateExpression: aws.String("REMOVE g1, r")})
			testkit.Must(t, err)
			older++
		}
	}
	if older != 4 {
		t.Fatalf("%d sessions", older)
	}
	erased(t, s, anna, "customerId")
	absent(t, s, anna.Email)
	if left := scan(t, s, []string{ada.Email})[ada.Email]; !strings.Contains(fmt.Sprint(left), "type=session") {
		t.Errorf("the session of another rider is gone: %v", left)
	}
}
