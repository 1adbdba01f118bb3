package erasure_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc/pkg/app/apptest"
	"svc/pkg/background/projection"
	"svc/pkg/background/reconcile"
	"svc/pkg/background/settlement"
	"svc/pkg/domain/feedback"
	"svc/pkg/domain/privacy"
	"svc/pkg/local/schema"
	"svc/pkg/local/testkit"
)

// scan returns where in the table each of the values is: the type and key of items
// that contain it, in any form of letters.
func scan(t *testing.T, s *apptest.Service, values []string) map[string][]string {
	t.Helper()
	endpoint, name := s.Stored()
	client, _ := schema.Clients(endpoint)
	found := map[string][]string{}
	for pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &name}); pages.HasMorePages(); {
		page, err := pages.NextPage(context.Background())
		testkit.Must(t, err)
		for _, it := range page.Items {
			text := strings.ToLower(flat(it))
			for _, value := range values {
				if strings.Contains(text, strings.ToLower(value)) {
					found[value] = append(found[value], flat(map[string]types.AttributeValue{"type": it["type"], "pk": it["pk"],
						"sk": it["sk"]}))
				}
			}
		}
	}
	return found
}

// flat returns the texts of an item.
func flat(it map[string]types.AttributeValue) string {
	var b strings.Builder
	for name, value := range it {
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			fmt.Fprintf(&b, "%s=%s ", name, v.Value)
		case *types.AttributeValueMemberSS:
			fmt.Fprintf(&b, "%s=%v ", name, v.Value)
		}
	}
	return b.String()
}

func request(t *testing.T, s *apptest.Service, token, body string) privacy.PrivacyRequest {
	t.Helper()
	return apptest.JSON[privacy.PrivacyRequest](t, s.Post(t, token, "/api/v1/privacy/requests", body).Must(t, 201))
}

// became waits until the request has the status.
func became(t *testing.T, s *apptest.Service, token, id string, want privacy.Status) privacy.PrivacyRequest {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		r := apptest.JSON[privacy.PrivacyRequest](t, s.Get(t, token, "/api/v1/privacy/requests/"+id).Must(t, 200))
		if r.Status == want {
			return r
		}
		if time.Now().After(deadline) {
			t.Fatalf("the request is %+v, want %s", r, want)
		}
	}
}

// TestErasedRider: everything that the table ever had of a rider is in the export,
// and nothing of it is in the table after the erasure.
func TestErasedRider(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	boss, anna := s.Token(t, s.Operator(t, "metro", "boss")), s.Rider(t, "metro", "anna")
	token := s.Token(t, anna)
	s.Patch(t, boss, "/api/v1/customers/"+anna.ID, `{"firstName": "Zwenda", "lastName": "Quillfeather",
		"phone": "+12125550181"}`).Must(t, 200)
	s.Drain(t)
	s.Patch(t, boss, "/api/v1/customers/"+anna.ID, `{"lastName": "Ormsbury"}`).Must(t, 200)
	s.Post(t, token, "/api/v1/me/addresses", `{"address": "7 Wyvern Mews", "lat": 40.71281, "lng": -74.00612,
		"label": "Granny", "notes": "the blue gate"}`).Must(t, 201)
	trip := apptest.JSON[struct{ ID string }](t, s.Post(t, token, "/api/v1/me/trips", `{"originAddress": "9 Basilisk Row",
		"originLat": 40.712345, "originLng": -74.006789, "destAddress": "3 Gorgon Wharf", "destLat": 40.71, "destLng": -74.01,
		"paymentType": "CASH", "notes": "bring an umbrella"}`).Must(t, 201))
	values := []string{"Zwenda", "Quillfeather", "Ormsbury", "12125550181", anna.Email, "7 Wyvern Mews",
		"Granny", "the blue gate", "9 Basilisk Row", "3 Gorgon Wharf", "bring an umbrella", "40.712345", "-74.006789",
		"changed my mind entirely"}
	erase := fmt.Sprintf(`{"kind": "erase", "customerId": %q}`, anna.ID)
	blocked := became(t, s, boss, request(t, s, boss, erase).ID, privacy.Blocked)
	if len(blocked.Reasons) != 1 || blocked.Reasons[0].Code != privacy.OpenTrip {
		t.Errorf("reasons: %+v", blocked.Reasons)
	}
	s.Post(t, token, "/api/v1/me/trips/"+trip.ID+"/cancel", `{"reason": "changed my mind entirely"}`).Must(t, 200)
	s.Drain(t)
	before := scan(t, s, values)
	copied := copyOf(t, s, boss, fmt.Sprintf(`{"kind": "export", "customerId": %q}`, anna.ID))
	for _, value := range values {
		if len(before[value]) == 0 {
			t.Errorf("the table never had %q", value)
		}
		if !strings.Contains(copied, value) {
			t.Errorf("the copy lacks %q, which is in %v", value, before[value])
		}
	}
	ready := became(t, s, boss, request(t, s, boss, erase).ID, privacy.Ready)
	s.Clock.Advance(6 * time.Minute)
	s.Post(t, boss, "/api/v1/privacy/requests/"+ready.ID+"/run", "").Must(t, 409)
	boss = s.SignIn(t, s.Operator(t, "metro", "boss")).AccessToken
	s.Post(t, boss, "/api/v1/privacy/requests/"+ready.ID+"/run", "").Must(t, 200)
	became(t, s, boss, ready.ID, privacy.Done)
	s.Drain(t)
	s.Get(t, token, "/api/v1/me").Must(t, 401)
	for value, where := range scan(t, s, values) {
		t.Errorf("after the erasure %q is in\n%s", value, strings.Join(where, "\n"))
	}
	shown := s.Get(t, boss, "/api/v1/customers/"+anna.ID).Must(t, 200)
	var c map[string]any
	testkit.Must(t, json.Unmarshal(shown.Body, &c))
	if c["id"] != anna.ID || c["erasedAt"] == nil || c["email"] != "" || c["name"] != "" {
		t.Errorf("the customer is %s", shown.Body)
	}
	s.Patch(t, boss, "/api/v1/customers/"+anna.ID, `{"firstName": "Back"}`).Must(t, 409)
	s.Post(t, boss, "/api/v1/privacy/requests", erase).Must(t, 409)
	events := string(s.Get(t, boss, "/api/v1/events?type=customer.erased").Must(t, 200).Body)
	if strings.Count(events, `"customer.erased"`) != 1 {
		t.Errorf("events: %s", events)
	}
	s.Clock.Advance(3 * time.Minute)
	testkit.Must(t, s.Runtime.Scheduled()["JobsFunction"](t.Context())) // the second run
	s.Drain(t)
	verify(t, s)
}

// verify compares everything that is counted, as svc verify does.
func verify(t *testing.T, s *apptest.Service) {
	t.Helper()
	run := &reconcile.Run{Compared: func(string, int) {}, Found: func(d reconcile.Difference) {
		t.Errorf("svc verify: %+v", d)
	}}
	counts := projection.Check{Run: run, Step: projection.Step{Now: s.Clock.Now, RankRows: feedback.RankRows}}
	testkit.Must(t, counts.Tenant(t.Context(), s.Tenant("metro")))
	ledger := settlement.Check{Run: run, Now: s.Clock.Now}
	testkit.Must(t, ledger.Tenant(t.Context(), s.Tenant("metro")))
}

// copyOf returns the file of an export.
func copyOf(t *testing.T, s *apptest.Service, token, body string) string {
	t.Helper()
	r := became(t, s, token, request(t, s, token, body).ID, privacy.Done)
	if r.URL == nil {
		t.Fatalf("the export is %+v", r)
	}
	res, err := http.Get(*r.URL)
	testkit.Must(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	testkit.Must(t, err)
	return string(text)
}
