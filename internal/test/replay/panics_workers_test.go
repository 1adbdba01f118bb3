package replay_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/test/replay"
	"svc/internal/test/testkit"
	"svc/pkg/app"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
	"svc/pkg/domain/dispatch"
	"svc/pkg/domain/event"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/webhook"
)

// dead returns the tasks of a book that were given up.
func (s *deployment) dead(t *testing.T, book string) (out []string) {
	t.Helper()
	p := s.db.Platform("DUE")
	page, err := p.Query(t.Context(), p.Partition("DUE", book, "DEAD"), table.Query{Limit: 100, Consistent: true})
	testkit.Must(t, err)
	for _, it := range page.Items {
		out = append(out, it.SK)
	}
	return out
}

// hooked makes an enabled webhook endpoint at a receiver that refuses the events in
// refused. got returns the ids of the events that came.
func (s *deployment) hooked(t *testing.T, metro table.Tenant, refused ...string) (endpoint string, got func() string) {
	t.Helper()
	var mu sync.Mutex
	var came []string
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		id := r.Header.Get("webhook-id")
		came = append(came, id)
		for _, bad := range refused {
			if id == bad {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}
	}))
	t.Cleanup(receiver.Close)
	var made webhook.Endpoint
	testkit.Must(t, json.Unmarshal(s.call(t, "POST", "/api/v1/webhooks", fmt.Sprintf(`{"url": %q}`, receiver.URL+"/x")),
		&made))
	it, err := metro.Get(t.Context(), webhook.Key(metro))
	testkit.Must(t, err)
	book, err := webhook.Kind.FromItem(it)
	testkit.Must(t, err)
	book.Find(made.ID).Status = webhook.Enabled
	next := webhook.Kind.Item(metro, "", book)
	next.Version = it.Version + 1
	testkit.Must(t, metro.Load(t.Context(), next))
	return made.ID, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(came, " ")
	}
}

// deliverPanics: the record of earlier attempts counts backwards, so there is no pause
// before the next one.
func (s *deployment) deliverPanics(t *testing.T, metro table.Tenant) {
	entries, _, err := event.Between(t.Context(), metro, 0, 0, 1000)
	testkit.Must(t, err)
	var all []webhook.Message
	for number, e := range entries {
		if all = append(all, webhook.Message{Tenant: metro.ID(), Event: e.ID, Number: number, Attempt: 1}); len(all) == 2 {
			break
		}
	}
	bad, good := &all[0], &all[1]
	endpoint, got := s.hooked(t, metro, bad.Event)
	bad.Endpoint, good.Endpoint = endpoint, endpoint
	odd := webhook.Sent{Delivery: webhook.Delivery{EventID: bad.Event, Status: webhook.Waiting}, Tries: -5}
	testkit.Must(t, metro.Load(t.Context(), odd.Item(metro, endpoint, time.Now())))
	message := func(id string, m webhook.Message, received int) string {
		body, err := json.Marshal(m)
		testkit.Must(t, err)
		return fmt.Sprintf(`{"messageId":%q,"body":%q,"attributes":{"ApproximateReceiveCount":"%d"}}`, id, body, received)
	}
	for _, received := range []int{1, 9, 10} {
		want := `{"batchItemFailures":[{"itemIdentifier":"bad"}]}`
		if received == 10 {
			want = `{"batchItemFailures":null}`
		}
		answer, err := s.processes[app.Deliver].Invoke(t.Context(), json.RawMessage(`{"Records":[`+
			message("bad", *bad, received)+","+message("good", *good, received)+`]}`))
		if err != nil || string(answer) != want {
			t.Errorf("received %d times: %s %v, want %s\n%s", received, answer, err, want, s.output.tail())
		}
	}
	if !strings.Contains(got(), good.Event) || len(s.dead(t, "webhooks")) != 1 ||
		!strings.Contains(s.dead(t, "webhooks")[0], bad.Event) {
		t.Errorf("sent: %s; dead: %q\n%s", got(), s.dead(t, "webhooks"), s.output.tail())
	}
	if text := s.output.tail(); !strings.Contains(text, "index out of range") || !strings.Contains(text, endpoint) {
		t.Errorf("the log does not tell: %s", text)
	}
}

// dispatchPanics: the number of drivers that the company asks at a time is negative.
func (s *deployment) dispatchPanics(t *testing.T, metro table.Tenant) {
	p, err := replay.Start(app.Dispatch, filepath.Join(s.dir, folder(app.Dispatch)), s.environment,
		&lines{log: s.output})
	testkit.Must(t, err)
	t.Cleanup(p.Stop)
	was, err := metro.Get(t.Context(), settings.Key(metro))
	testkit.Must(t, err)
	d, err := settings.Kind.FromItem(was)
	testkit.Must(t, err)
	d.Dispatch.Mode, d.Dispatch.WaveSize = settings.Offers, -1
	testkit.Must(t, metro.Load(t.Context(), table.Item{Key: settings.Key(metro), Type: "settings",
		Version: was.Version + 1, Doc: d}))
	found, _, err := trip.Recent(t.Context(), metro, trip.Filter{Status: trip.Pending}, "", 1)
	testkit.Must(t, err)
	found[0].Dispatched = true
	testkit.Must(t, metro.Load(t.Context(), found[0].Item(metro, 1)))
	const gone = "trp_01JMETR00000000000000000ZZ" // of a trip that does not exist only the state of its search is left
	testkit.Must(t, metro.Load(t.Context(), table.Item{Key: dispatch.SearchKey(metro, gone), Type: "dispatch", Version: 1,
		Doc: dispatch.Search{Wave: 1}}))
	book := due.Book{DB: s.db, Name: "dispatch", Now: time.Now}
	tx := metro.Write()
	book.Add(tx, due.Task{Tenant: metro.ID(), Kind: "trip", ID: found[0].ID, At: time.Now(), Attempts: 9})
	testkit.Must(t, tx.Commit(t.Context()))
	body := func(id string) string {
		return fmt.Sprintf(`{"messageId":"m","body":%q}`, fmt.Sprintf(`{"tenant":%q,"trip":%q}`, metro.ID(), id))
	}
	for _, event := range []string{`{"Records":[` + body(found[0].ID) + "," + body(gone) + `]}`, `{"sweep":true}`} {
		answer, err := p.Invoke(t.Context(), json.RawMessage(event))
		if err != nil || string(answer) != `{"batchItemFailures":null}` {
			t.Errorf("%s: %s %v\n%s", event, answer, err, s.output.tail())
		}
	}
	left, err := metro.Get(t.Context(), dispatch.SearchKey(metro, gone))
	testkit.Must(t, err)
	if dead := s.dead(t, "dispatch"); left.Found() || len(dead) != 1 || !strings.HasSuffix(dead[0], found[0].ID) {
		t.Errorf("the other trip's search is left: %v; dead: %q\n%s", left.Found(), dead, s.output.tail())
	}
	if text := s.output.tail(); !strings.Contains(text, "panic: ") || !strings.Contains(text, found[0].ID) {
		t.Errorf("the log does not tell: %s", text)
	}
}

// settlementPanics: no stored item is known with which settlement panics, so its source
// gets a line that does for one trip.
func (s *deployment) settlementPanics(t *testing.T, _ table.Tenant) {
	root, err := filepath.Abs("../../..")
	testkit.Must(t, err)
	source, dir := filepath.Join(root, "pkg/domain/receipt/entries.go"), t.TempDir()
	text, err := os.ReadFile(source)
	testkit.Must(t, err)
	const line = "	tr = tr.Charged()\n"
	if strings.Count(string(text), line) != 1 {
		t.Fatal("the line before which settlement is to panic is not there")
	}
	put := func(name string, text string) string {
		testkit.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		return filepath.Join(dir, name)
	}
	odd := put("entries.go", strings.Replace(string(text), line, line+"	if tr.ID == os.Getenv(\"PANICS\") {\n"+
		"		panic(tr.ID)\n	}\n", 1))
	odd = put("entries.go", strings.Replace(readAll(t, odd), "import (", "import (\n	\"os\"", 1))
	overlay := put("overlay.json", fmt.Sprintf(`{"Replace": {%q: %q}}`, source, odd))
	program := filepath.Join(dir, "settlement")
	build := exec.CommandContext(t.Context(), "go", "build", "-tags=lambda.norpc", "-trimpath", "-buildvcs=false",
		"-overlay="+overlay, "-o", program, "svc/functions/settlement")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var event struct{ Records []json.RawMessage }
	testkit.Must(t, json.Unmarshal([]byte(readAll(t, filepath.Join(root, "events/stream/settlement.json"))), &event))
	bad := struct {
		DynamoDB struct {
			SequenceNumber string
			Keys           map[string]map[string]string
		}
	}{}
	testkit.Must(t, json.Unmarshal(event.Records[0], &bad))
	pk := strings.Split(bad.DynamoDB.Keys["pk"]["S"], "#")
	p, err := replay.Start(app.Settlement, program, append([]string{"PANICS=" + pk[len(pk)-1]}, s.environment...),
		&lines{log: s.output})
	testkit.Must(t, err)
	t.Cleanup(p.Stop)
	batch, err := json.Marshal(event)
	testkit.Must(t, err)
	for range 2 {
		answer, err := p.Invoke(t.Context(), batch)
		want := fmt.Sprintf(`{"batchItemFailures":[{"itemIdentifier":%q}]}`, bad.DynamoDB.SequenceNumber)
		if err != nil || string(answer) != want {
			t.Errorf("%s %v, want %s\n%s", answer, err, want, s.output.tail())
		}
	}
	if text := s.output.tail(); !strings.Contains(text, "panic: string") || !strings.Contains(text, pk[len(pk)-1]) {
		t.Errorf("the log does not tell: %s", text)
	}
}

func readAll(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	testkit.Must(t, err)
	return string(text)
}
