package app_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

// TestIdempotencyAfterInvalid: a 400 is not stored under the key. The corrected
// request may use the key again.
func TestIdempotencyAfterInvalid(t *testing.T) {
	s := newSuite(t)
	rider := s.Token(t, s.actors[authz.Rider])
	for range 2 {
		bad := s.Do(t, keyed(rider, "/api/v1/me/trips", `{"originLat":1}`, "k")).Must(t, 400)
		if bad.Header.Get("Idempotent-Replayed") != "" {
			t.Error("a 400 was stored")
		}
	}
	s.Do(t, keyed(rider, "/api/v1/me/trips", ride, "k")).Must(t, 201)
}

// TestIdempotencyBody: bodies are compared by their JSON value, not their bytes.
func TestIdempotencyBody(t *testing.T) {
	s := newSuite(t)
	rider := s.Token(t, s.actors[authz.Rider])
	const body = `{"originAddress":"A \u00e9","originLat":1,"originLng":-20.50}`
	first := s.Do(t, keyed(rider, "/api/v1/me/trips", body, "k")).Must(t, 201)
	for _, same := range []string{
		" " + body + "\n",
		`{"originLng":-20.5,"originLat":1.0,"originAddress":"A é"}`,
		`{"originAddress":"A é","originLat":10e-1,"originLng":-2.05e+1}`,
	} {
		a := s.Do(t, keyed(rider, "/api/v1/me/trips", same, "k")).Must(t, 201)
		if string(a.Body) != string(first.Body) || a.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: %s", same, a.Body)
		}
	}
	for _, other := range []string{
		`{"originAddress":"A e","originLat":1,"originLng":-20.50}`,
		`{"originAddress":"A é","originLat":1,"originLng":-20.500000001}`,
		`{"originAddress":"A é","originLat":1,"originLng":20.5}`,
		`{"originAddress":"A é","originLat":10,"originLng":-20.5}`,
		`{"originAddress":"A é","originLat":1,"originLng":-20.5,"notes":"n"}`,
		`{"originAddress":"x","originAddress":"A é","originLat":1,"originLng":-20.5}`,
		``,
	} {
		s.Do(t, keyed(rider, "/api/v1/me/trips", other, "k")).Must(t, 422)
	}
}

// TestIdempotencyHeaders: two Idempotency-Key headers cause a 400. The gateway
// joins them with a comma, so a comma counts only inside quotes.
func TestIdempotencyHeaders(t *testing.T) {
	s := newSuite(t)
	rider := s.Token(t, s.actors[authz.Rider])
	for _, keys := range [][]string{{"a", "b"}, {"a", "a"}, {`"a"`, `"b"`}, {"a", ""}, {"a,b"}} {
		r, err := http.NewRequest(http.MethodPost, s.URL+"/api/v1/me/trips", strings.NewReader(ride))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Authorization": {"Bearer " + rider}, "Content-Type": {"application/json"},
			"Idempotency-Key": keys}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != 400 || !strings.Contains(string(body), `"field":"header.Idempotency-Key"`) {
			t.Errorf("%q: %d %s %v", keys, res.StatusCode, body, err)
		}
	}
}

// TestIdempotencyKeyOfAnotherFamily: a key that the caller chose is not in the table,
// so it cannot imitate the key of another family of items, and reveals nobody.
func TestIdempotencyKeyOfAnotherFamily(t *testing.T) {
	s := newSuite(t)
	actor := s.actors[authz.Rider]
	for _, key := range []string{"a#LOGIN#b", "anna@metro.example", "plain"} {
		first := s.Do(t, keyed(s.Token(t, actor), "/api/v1/me/trips", ride, key)).Must(t, 201)
		again := s.Do(t, keyed(s.Token(t, actor), "/api/v1/me/trips", ride, key)).Must(t, 201)
		if string(again.Body) != string(first.Body) || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("a repeated request: %s", again.Body)
		}
		metro := s.Tenant("metro")
		it, err := metro.Get(t.Context(), api.AnswerKey(metro, actor.ID, key))
		if err != nil || !it.Found() || strings.Contains(it.Key.PK+it.Key.SK, key) {
			t.Errorf("record %+v: found %t, %v", it.Key, it.Found(), err)
		}
	}
}

// TestKeyedRetryAcrossAnUpgrade: an earlier build stored the response. Its
// fingerprint hashed the bytes of the body, or it stored the response under another key
// of the table. The retry gets the response, and another request with the key does not.
func TestKeyedRetryAcrossAnUpgrade(t *testing.T) {
	testkit.Long(t)
	s := newSuite(t)
	actor := s.actors[authz.Rider]
	rider, tn := s.Token(t, actor), s.Tenant("metro")
	const body = `{ "originAddress": "A", "originLat": 1.50, "originLng": 2 }`
	for _, key := range []string{"plain", "with#hash", "#LOGIN#x"} {
		for name, test := range map[string]struct {
			layout int
			raw    bool // the fingerprint hashes the bytes of the body
			other  int  // status of another request
			again  int  // status of the retry
		}{
			"canonical, of version 1.1.0":  {2, false, 422, 201},
			"bytes of the body":            {1, true, 422, 201},
			"canonical, without a version": {1, false, 422, 201},
			"this build":                   {2, false, 422, 201},
			"a newer build":                {3, true, 503, 503},
		} {
			t.Run(key+" "+name, func(t *testing.T) {
				request := keyed(rider, "/api/v1/me/trips", body, key+ids.Hash(name)[:8])
				first := s.Do(t, request).Must(t, 201)
				chosen := request.Header["Idempotency-Key"]
				now := api.AnswerKey(tn, actor.ID, chosen)
				it, err := tn.Get(t.Context(), now)
				testkit.Must(t, err)
				earlier := table.Item{Key: now, Type: it.Type, Layout: test.layout, Expires: it.Expires, Attrs: map[string]any{
					"fingerprint": it.Text("fingerprint"), "status": it.Int("status"), "body": it.Text("body")}}
				if test.raw {
					earlier.Attrs["fingerprint"] = hashOf(http.MethodPost, "/api/v1/me/trips", "", body)
				}
				tx := tn.Write()
				if name == "canonical, of version 1.1.0" {
					earlier.Key = tn.Key("IDEMPOTENCY", actor.ID, chosen, "IDEMPOTENCY")
					if strings.Contains(chosen, "#") {
						earlier.Key = tn.Key("IDEMPOTENCY", actor.ID, "sha256:"+ids.Hash(chosen), "IDEMPOTENCY")
					}
					tx.Delete(now)
				}
				tx.Put(earlier)
				testkit.Must(t, table.Retry(t.Context(), tx.Commit))
				again := s.Do(t, request).Must(t, test.again)
				if test.again == 201 && (string(again.Body) != string(first.Body) ||
					again.Header.Get("Idempotent-Replayed") != "true") {
					t.Errorf("%s", again.Body)
				}
				s.Do(t, keyed(rider, "/api/v1/me/trips", ride, chosen)).Must(t, test.other)
			})
		}
	}
}

// TestKeyedRecordStays: the record of a key is where the builds before and after look for
// it, and has what they read. The literals of this test stay.
func TestKeyedRecordStays(t *testing.T) {
	s := newSuite(t)
	actor, tn := s.actors[authz.Rider], s.Tenant("metro")
	token, path := s.Token(t, actor), "/api/v1/me/addresses"
	const body, canonical = `{"lng":2.50,"lat":1,"address":"A"}`, `{"address":"A","lat":1e0,"lng":25e-1}`
	at := func(key string) table.Key {
		sum := sha256.Sum256([]byte(key))
		return table.Key{PK: "T#" + tn.ID() + "#IDEMPOTENCY#" + actor.ID, SK: hex.EncodeToString(sum[:])}
	}
	fingerprint := hashOf("POST", path, "", canonical)
	first := s.Do(t, keyed(token, path, body, "written")).Must(t, 201)
	it, err := tn.Get(t.Context(), at("written"))
	testkit.Must(t, err)
	if it.Layout != 2 || it.Type != "idempotency" || it.Text("fingerprint") != fingerprint || it.Int("status") != 201 ||
		it.Text("body") != string(first.Body) || it.Expires.Sub(s.Clock.Now()) < 23*time.Hour {
		t.Errorf("the record is %+v", it)
	}
	for name, stored := range map[string]struct {
		status int
		body   string
		more   map[string]any // what a newer build adds
		layout int
	}{
		"of-the-build-before": {201, `{"id":"adr_before"}`, nil, 2},
		"a-conflict":          {409, `{"error":"invalid_state","error_description":"Before."}`, nil, 2},
		"of-a-newer-build":    {201, `{"id":"adr_after","newer":true}`, map[string]any{"newer": "added"}, 2},
		"of-a-newer-layout":   {404, `{"error":"not_found","error_description":"After."}`, map[string]any{"newer": 1}, 7},
	} {
		attrs := map[string]any{"fingerprint": fingerprint, "status": stored.status, "body": stored.body}
		maps.Copy(attrs, stored.more)
		testkit.Must(t, tn.Load(t.Context(), table.Item{Key: at(name), Type: "idempotency", Layout: stored.layout,
			Expires: s.Clock.Now().Add(time.Hour), Attrs: attrs}))
		q := keyed(token, path, body, name)
		q.Header["X-Request-Id"] = name // the body is not as the document describes it
		if got := s.Do(t, q); got.Status != stored.status || string(got.Body) != stored.body ||
			got.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
}

// hashOf is the fingerprint of the first build.
func hashOf(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		sum := sha256.Sum256([]byte(part))
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}
