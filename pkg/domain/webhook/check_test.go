package webhook

import "testing"

// TestOldValuesStopNoOtherChange: an endpoint that breaks a newer rule can be changed in
// what keeps the rules.
func TestOldValuesStopNoOtherChange(t *testing.T) {
	t.Parallel()
	r := Record{Endpoint: Endpoint{ID: "whk_1", URL: "https://hooks.metro.example/\u202ea", Description: "a\u202eb"}}
	was := r.Endpoint
	if r.Types = []string{"trip.completed"}; r.check(was, false) != nil {
		t.Errorf("%v", r.check(was, false))
	}
	if r.Description = "c\u202ed"; r.check(was, false) == nil {
		t.Error("a new description may turn the text around")
	}
	if r.Description, r.URL = "", "https://hooks.metro.example/\u202eb"; r.check(was, false) == nil {
		t.Error("a new address may turn the text around")
	}
}
