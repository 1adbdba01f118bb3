package replay_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/app"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
)

// TestPanicsInBuiltFunctions: a stored item with which the work panics ends no built
// function. The job has failed; of a batch or a queue only that record or message comes
// again, until it is dead; the task is dead after its last try.
func TestPanicsInBuiltFunctions(t *testing.T) {
	testkit.Long(t)
	s := start(t)
	n, err := tenant.Store{DB: s.db}.BySlug(t.Context(), "metro")
	testkit.Must(t, err)
	metro := s.db.Tenant(n.ID)
	for name, panics := range map[string]func(*testing.T, table.Tenant){app.Jobs: s.jobsPanic,
		app.Projection: s.projectionPanics, app.Deliver: s.deliverPanics, app.Dispatch: s.dispatchPanics,
		app.Settlement: s.settlementPanics} {
		t.Run(name, func(t *testing.T) { panics(t, metro) })
	}
}

// call makes a request as the operator of metro.
func (s *deployment) call(t *testing.T, method, path, body string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.BaseURL+path, strings.NewReader(body))
	testkit.Must(t, err)
	r.Header.Set("Authorization", "Bearer "+s.token(t, "operator@metro.example"))
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	testkit.Must(t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	testkit.Must(t, err)
	if res.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %d %s\n%s", method, path, res.StatusCode, text, s.output.tail())
	}
	return text
}

func (s *deployment) jobsPanic(t *testing.T, metro table.Tenant) {
	var job imports.Job
	testkit.Must(t, json.Unmarshal(s.call(t, "POST", "/api/v1/imports", `{"kind": "customers"}`), &job))
	it, err := metro.Get(t.Context(), imports.Key(metro, job.ID))
	testkit.Must(t, err)
	rec, err := imports.Kind.FromItem(it)
	testkit.Must(t, err)
	rec.Status, rec.Rows = imports.Running, 5 // without a shape, which says what separates the cells
	testkit.Must(t, metro.Load(t.Context(), imports.Kind.Item(metro, "", rec)))
	for range 2 {
		_, err = s.processes[app.Jobs].Invoke(t.Context(), json.RawMessage(`{}`))
		if err != nil && !strings.Contains(err.Error(), "panic: runtime error: index out of range") {
			t.Fatalf("%v\n%s", err, s.output.tail())
		}
	}
	testkit.Must(t, json.Unmarshal(s.call(t, "GET", "/api/v1/imports/"+job.ID, ""), &job))
	if job.Status != imports.Failed || job.Error == nil || !strings.Contains(*job.Error, "The service failed") {
		t.Errorf("the import is %s: %v\n%s", job.Status, job.Error, s.output.tail())
	}
}

func (s *deployment) projectionPanics(t *testing.T, metro table.Tenant) {
	all, _, err := trip.Recent(t.Context(), metro, trip.Filter{Status: trip.Completed}, "", 2)
	testkit.Must(t, err)
	testkit.Must(t, metro.Load(t.Context(), table.Item{Key: event.EmittedKey(metro, trip.Key(metro, all[0].ID)),
		Type: "emitted", Doc: event.Emitted{Events: 1, Log: "x"}})) // no identifier of a log entry
	var records []string
	for i, tr := range all {
		key := fmt.Sprintf(`"pk":{"S":%q},"sk":{"S":%q}`, trip.Key(metro, tr.ID).PK, trip.Key(metro, tr.ID).SK)
		records = append(records, fmt.Sprintf(`{"eventID":"%d","eventName":"MODIFY","dynamodb":{"Keys":{%s},"NewImage":{%s,`+
			`"type":{"S":"trip"}},"SequenceNumber":"90%d"}}`, i, key, key, i))
	}
	for range 2 {
		answer, err := s.processes[app.Projection].Invoke(t.Context(),
			json.RawMessage(`{"Records":[`+strings.Join(records, ",")+`]}`))
		if want := `{"batchItemFailures":[{"itemIdentifier":"900"}]}`; err != nil || string(answer) != want {
			t.Errorf("%s %v, want %s\n%s", answer, err, want, s.output.tail())
		}
	}
}
