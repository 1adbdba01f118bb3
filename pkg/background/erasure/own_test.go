package erasure_test

import (
	"fmt"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/domain/privacy"
)

// TestOwnErasureAfterAnOperators: who asked to be erased and was then erased by an
// operator has not withdrawn the own request.
func TestOwnErasureAfterAnOperators(t *testing.T) {
	testkit.LongHere(t)
	t.Parallel()
	s := apptest.New(t)
	boss, anna := s.Operator(t, "metro", "boss"), s.Rider(t, "metro", "anna")
	made := apptest.JSON[privacy.PrivacyRequest](t,
		s.Post(t, s.Token(t, anna), "/api/v1/me/privacy/requests", `{"kind": "erase"}`).Must(t, 201))
	token := s.Token(t, boss)
	became(t, s, token, made.ID, privacy.Ready)
	r := request(t, s, token, fmt.Sprintf(`{"kind": "erase", "customerId": %q}`, anna.ID))
	became(t, s, token, r.ID, privacy.Ready)
	s.Post(t, token, "/api/v1/privacy/requests/"+r.ID+"/run", "").Must(t, 200)
	became(t, s, token, r.ID, privacy.Done)
	s.Clock.Advance(privacy.Grace + time.Hour)
	testkit.Must(t, s.Runtime.Scheduled()["JobsFunction"](t.Context()))
	became(t, s, s.SignIn(t, boss).AccessToken, made.ID, privacy.Done)
}
