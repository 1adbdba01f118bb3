package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"svc/internal/test/testkit"
	"svc/pkg/app"
	"svc/pkg/base/config"
)

// Both functions of svc dev give a trip up at once that no retry can process. The
// trips behind it are processed. The letters are listed, replayed after the item
// was corrected, and dropped.
func TestBadDataOfAFolder(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	w := start(t)
	record := broken(t)[1]
	w.breakTrip(record)
	for _, word := range []string{"settlement", "projection"} {
		if got := w.letters(word); len(got) != 1 || !strings.Contains(got[0].Reason, "data of an item is wrong") {
			t.Errorf("letters of %s: %+v", word, got)
		}
		if _, errs, code := w.run("dlq", "replay", word); code != 1 || !strings.Contains(errs, "no document") {
			t.Errorf("replay of %s before the correction: %d %s", word, code, errs)
		}
	}
	if got := w.ok("status"); strings.Count(got, " 1") < 2 {
		t.Errorf("status: %s", got)
	}
	w.ok("verify") // the lag is short: the records behind the trip were processed
	w.removeTrip(record)
	w.ok("dlq", "replay", "settlement")
	w.ok("dlq", "drop", "projection", "--all")
	for _, word := range []string{"settlement", "projection"} {
		if got := w.ok("dlq", "list", word, "--json"); strings.TrimSpace(got) != "[]" {
			t.Errorf("what stays of %s: %s", word, got)
		}
	}
}

// lostBucket is a bucket of S3 that tells a queue of each new object.
type lostBucket struct {
	*testing.T
	objects, messages map[string]string
	fails             bool
}

func (b lostBucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost:
		testQueue{T: b.T, messages: b.messages}.ServeHTTP(w, r)
	case !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 "):
		b.Errorf("%s %s is not signed", r.Method, r.URL)
	case b.fails:
		w.WriteHeader(http.StatusServiceUnavailable)
	case r.Method == http.MethodGet:
		_, _ = io.WriteString(w, b.objects[r.URL.Path])
	case r.Method == http.MethodDelete:
		delete(b.objects, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
	case b.objects[r.URL.Path] != "" && r.Header.Get("If-None-Match") == "*":
		w.WriteHeader(http.StatusPreconditionFailed)
	default:
		text, err := io.ReadAll(r.Body)
		if err != nil {
			b.Error(err)
		}
		b.objects[r.URL.Path] = string(text)
		key := strings.TrimPrefix(r.URL.Path, "/lost/")
		b.messages[fmt.Sprint(len(b.messages))] = created("lost", key)
	}
}

// triesOf delivers a batch three times. S3 fails at the first.
func (b *lostBucket) triesOf(function string, handler lambda.Handler, payload []byte) {
	for try, want := range []int{1, 0, 0} {
		b.fails = try == 0
		var answer events.DynamoDBEventResponse
		text, err := handler.Invoke(b.Context(), payload)
		if err == nil {
			err = json.Unmarshal(text, &answer)
		}
		if err != nil || len(answer.BatchItemFailures) != want {
			b.Errorf("%s, try %d: %s, %v; want %d failures", function, try, text, err, want)
		}
	}
}

// The function itself puts a letter into the bucket, once, below its own name.
// svc dlq lists it, replays it after the correction, and removes it. If S3 fails,
// the stream delivers the record again.
func TestBadDataInABucket(t *testing.T) {
	testkit.Long(t)
	local := start(t)
	db := local.opened()
	w := local.deployed()
	bucket := &lostBucket{T: t, objects: map[string]string{}, messages: map[string]string{}}
	server := httptest.NewServer(bucket)
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL_SQS", server.URL)
	t.Setenv("AWS_ENDPOINT_URL_S3", server.URL)
	t.Setenv("SETTLEMENT_DEAD_LETTERS", server.URL+"/123456789012/dead")

	settings := config.Read(os.Getenv)
	settings.LostRecords = "lost"
	all := broken(t)[1:2]
	delete(all[0].Change.NewImage, "doc")
	all[0].Change.NewImage["name"] = events.NewStringAttribute("Zwenda Quill")
	local.breakTrip(all[0])
	payload, err := json.Marshal(events.DynamoDBEvent{Records: all})
	if err != nil {
		t.Fatal(err)
	}
	first := all[0].Change.SequenceNumber
	for function, serve := range map[string]app.Serve{app.Settlement: app.Settling, app.Projection: app.Projecting} {
		handler, err := serve(&app.Runtime{DB: db, Now: time.Now, Config: settings}, function)
		if err != nil {
			t.Fatal(err)
		}
		bucket.triesOf(function, lambda.NewHandler(handler), payload)
		if text := bucket.objects["/lost/"+function+"/"+first]; text == "" || strings.Contains(text, "Zwenda") {
			t.Errorf("%s has no object, or one with a name: %v", function, bucket.objects)
		}
	}
	if len(bucket.objects) != 2 || len(bucket.messages) != 2 {
		t.Fatalf("objects %v, messages %v", bucket.objects, bucket.messages)
	}
	for receipt, text := range bucket.messages { // the rule of the other queue
		if strings.Contains(text, app.Projection) {
			delete(bucket.messages, receipt)
		}
	}
	got := w.ok("dlq", "list", "settlement", "--wide")
	if !strings.Contains(got, first) || !strings.Contains(got, "BadData") {
		t.Errorf("list: %s", got)
	}
	if _, errs, code := w.run("dlq", "replay", "settlement"); code != 1 || !strings.Contains(errs, "no document") {
		t.Errorf("replay before the correction: %d %s", code, errs)
	}
	local.removeTrip(all[0])
	w.ok("dlq", "replay", "settlement")
	if len(bucket.objects) != 1 || len(bucket.messages) > 0 {
		t.Errorf("what stays: %v, %v", bucket.objects, bucket.messages)
	}
}
