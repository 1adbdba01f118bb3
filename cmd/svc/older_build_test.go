package main

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc"
	"svc/internal/test/testkit"
	"svc/pkg/access/signing"
	"svc/pkg/app"
	"svc/pkg/edge/gateway/emulator"
	"svc/pkg/local/schema"
)

// older is what the build 0f76159 stored and answered. That build ran with the
// demo's tenant harbor, after its other tenant was deleted. Its clients signed in,
// and sent the calls in this order. The table was read afterwards.
type older struct {
	At         time.Time
	BaseURL    string
	SealingKey string
	Refresh    string // refresh token of a rider
	Client     struct {
		ID    string `json:"client_id"`
		Token string `json:"registration_access_token"`
	}
	Trips map[string]string // ids, by what happened to the trip
	Calls []struct {
		Method, Path, Token, Body, Key string
		Status                         int
		Answer                         any
	}
	Items []map[string]map[string]any
}

// olderBuild is today's service on the older build's table.
type olderBuild struct {
	world
	older
	gateway http.Handler
}

func newOlderBuild(t *testing.T) *olderBuild {
	t.Helper()
	b := &olderBuild{world: world{T: t}}
	file, err := os.Open("testdata/older.json.gz")
	testkit.Must(t, err)
	defer func() { _ = file.Close() }()
	text, err := gzip.NewReader(file)
	testkit.Must(t, err)
	testkit.Must(t, json.NewDecoder(text).Decode(&b.older))

	name := testkit.Name(t, schema.Options{StreamOff: true})
	client, _ := schema.Clients(testkit.Endpoint(t))
	for _, it := range b.Items {
		raw := map[string]types.AttributeValue{}
		for attribute, value := range it {
			raw[attribute] = attributeOf(t, value)
		}
		_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: raw})
		testkit.Must(t, err)
	}

	key, err := base64.StdEncoding.DecodeString(b.SealingKey)
	testkit.Must(t, err)
	sealing := filepath.Join(t.TempDir(), "sealing.key")
	testkit.Must(t, os.WriteFile(sealing, key, 0o600))
	sealer, err := signing.FileSealer(sealing)
	testkit.Must(t, err)
	rt := &app.Runtime{DB: testkit.Open(t, name, &testkit.Wire{}), BaseURL: b.BaseURL, Sealer: sealer,
		Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return b.At.Add(time.Minute) }}
	made, err := rt.Functions()
	testkit.Must(t, err)
	functions := map[string]emulator.Function{}
	for name, f := range made {
		functions[name] = f
	}
	b.gateway, err = emulator.New(svc.Template, functions)
	testkit.Must(t, err)
	for variable, value := range map[string]string{"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "local",
		"AWS_SECRET_ACCESS_KEY": "local", "TABLE_NAME": name, "AWS_ENDPOINT_URL_DYNAMODB": testkit.Endpoint(t)} {
		t.Setenv(variable, value)
	}
	return b
}

func attributeOf(t *testing.T, value map[string]any) types.AttributeValue {
	t.Helper()
	for kind, v := range value {
		text, isText := v.(string)
		flag, isFlag := v.(bool)
		list, _ := v.([]any)
		switch {
		case kind == "S" && isText:
			return &types.AttributeValueMemberS{Value: text}
		case kind == "N" && isText:
			return &types.AttributeValueMemberN{Value: text}
		case kind == "SS":
			var set types.AttributeValueMemberSS
			for _, one := range list {
				set.Value = append(set.Value, fmt.Sprint(one))
			}
			return &set
		case kind == "BOOL" && isFlag:
			return &types.AttributeValueMemberBOOL{Value: flag}
		case kind == "B" && isText:
			raw, err := base64.StdEncoding.DecodeString(text)
			testkit.Must(t, err)
			return &types.AttributeValueMemberB{Value: raw}
		}
	}
	t.Fatalf("an attribute is %v", value)
	return nil
}

// send sends a request and returns the status and the decoded answer.
func (b *olderBuild) send(method, path, token, key, kind, body string) (status int, answer any) {
	b.Helper()
	r := httptest.NewRequest(method, b.BaseURL+path, strings.NewReader(body))
	for name, value := range map[string]string{"Authorization": token, "Idempotency-Key": key, "Content-Type": kind} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	w := httptest.NewRecorder()
	b.gateway.ServeHTTP(w, r)
	if w.Body.Len() > 0 {
		testkit.Must(b, json.Unmarshal(w.Body.Bytes(), &answer))
	}
	return w.Code, answer
}

// lost returns the paths at which the answer now lacks what it said then. It may
// say more.
func lost(path string, then, now any) (out []string) {
	switch was := then.(type) {
	case map[string]any:
		is, _ := now.(map[string]any)
		for name, v := range was {
			out = append(out, lost(path+"."+name, v, is[name])...)
		}
	case []any:
		is, _ := now.([]any)
		if len(is) != len(was) {
			return []string{fmt.Sprintf("%s: %d elements, then %d", path, len(was), len(is))}
		}
		for i, v := range was {
			out = append(out, lost(fmt.Sprint(path, ".", i), v, is[i])...)
		}
	default:
		if !reflect.DeepEqual(then, now) {
			out = []string{fmt.Sprintf("%s: %v, then %v", path, then, now)}
		}
	}
	return out
}

// TestOlderBuild: today's build reads every type of item that an older build
// stored. It answers as that build did, repeats its keyed answers, continues its
// sessions and trips, and corrects what it counted.
func TestOlderBuild(t *testing.T) {
	testkit.Long(t)
	b := newOlderBuild(t)
	answers := func(keyed bool) {
		for _, c := range b.Calls {
			if (c.Key != "") != keyed || c.Method == http.MethodPatch { // repeating a PATCH would change the item again
				continue
			}
			status, answer := b.send(c.Method, c.Path, "Bearer "+c.Token, c.Key, "application/json", c.Body)
			if want := max(c.Status, http.StatusOK); status != want {
				t.Errorf("%s %s: %d %v, want %d", c.Method, c.Path, status, answer, want)
			}
			for _, what := range lost("", c.Answer, answer) {
				// A report without parameters ends now. Older reports counted completions by
				// the time of the request.
				if !strings.HasPrefix(what, ".window.") && !strings.Contains(c.Path, "summary?") {
					t.Errorf("%s %s %s", c.Method, c.Path, what)
				}
			}
		}
	}
	answers(true)
	b.reports("before a rebuild")
	if out := b.ok("status"); !strings.Contains(out, "older rides of harbor") {
		t.Errorf("status: %s", out)
	}
	b.ok("rebuild") // it counts completed trips by the time of their completion
	answers(false)
	if out := b.ok("status"); !strings.Contains(out, "by time of completion") {
		t.Errorf("status after the rebuild: %s", out)
	}

	status, answer := b.send(http.MethodGet, "/oauth/register/"+b.Client.ID, "Bearer "+b.Client.Token, "", "", "")
	if status != http.StatusOK {
		t.Errorf("the registration: %d %v", status, answer)
	}
	rider, driver := b.tokenOf("rider"), b.tokenOf("driver")
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {b.Refresh}, "client_id": {clientOf(t, rider)}}
	status, answer = b.send(http.MethodPost, "/oauth/token", "", "", "application/x-www-form-urlencoded", form.Encode())
	tokens, _ := answer.(map[string]any)
	rider, _ = tokens["access_token"].(string)
	if status != http.StatusOK {
		t.Errorf("refresh: %d %v", status, answer)
	}
	for path, token := range map[string]string{"/api/v1/me/trips/" + b.Trips["running"] + "/complete": driver,
		"/api/v1/me/trips/" + b.Trips["pending"] + "/cancel": rider} {
		body := map[string]string{driver: `{"finalFare":7}`, rider: `{}`}[token]
		if status, answer := b.send(http.MethodPost, path, "Bearer "+token, "", "application/json", body); status != 200 {
			t.Errorf("%s: %d %v", path, status, answer)
		}
	}
	if got := b.ok("rebuild", "harbor", "--json"); !strings.Contains(got, b.Trips["running"]) {
		t.Errorf("the trip was not settled: %s", got)
	}
	if got := b.ok("verify"); !strings.HasPrefix(got, "No differences.") {
		t.Errorf("verify: %s", got)
	}
	b.lists()
}

// reports compares the reports of windows with what the older build answered.
func (b *olderBuild) reports(when string) {
	b.Helper()
	n := 0
	for _, c := range b.Calls {
		if !strings.Contains(c.Path, "/reports/summary") {
			continue
		}
		n++
		status, answer := b.send(c.Method, c.Path, "Bearer "+c.Token, "", "", "")
		then, _ := c.Answer.(map[string]any)
		now, _ := answer.(map[string]any)
		for _, member := range []string{"completedTrips", "revenue"} {
			if status != http.StatusOK || then[member] != now[member] {
				b.Errorf("%s, %s: %d, %s is %v, then %v", c.Path, when, status, member, then[member], now[member])
			}
		}
	}
	if n == 0 {
		b.Error("the older build answered no report")
	}
}

// lists checks that each command reads the items of its kind.
func (b *olderBuild) lists() {
	b.Helper()
	for args, want := range map[string]string{"tenant list": "harbor", "tenant settings harbor": "",
		"tenant brand harbor": "Harbor Alt", "trip list harbor": "Ελένη", "rider list harbor": "rider1@harbor",
		"driver list harbor": "driver1@harbor", "member list harbor": "operator@harbor", "service list harbor": "",
		"zone list harbor": "", "business list harbor": "Padaria", "order list harbor": "PQ",
		"payment list harbor rider1@harbor.example": "4242", "feedback list": "mais-mapas",
		"client list": b.Client.ID, "keys list": "key_", "audit harbor": "payment"} {
		out, errs, code := b.run(strings.Fields(args)...)
		if code != 0 || !strings.Contains(out, want) || strings.Count(out, "\n") < 2 {
			b.Errorf("svc %s: %d %s %s", args, code, out, errs)
		}
	}
}

// tokenOf returns the access token that the older build issued to an audience.
func (b *olderBuild) tokenOf(audience string) string {
	b.Helper()
	for _, c := range b.Calls {
		if claimsOf(b.T, c.Token).Audience == audience {
			return c.Token
		}
	}
	b.Fatalf("no token of a %s", audience)
	return ""
}

func clientOf(t *testing.T, token string) string { t.Helper(); return claimsOf(t, token).Client }

func claimsOf(t *testing.T, token string) (out struct {
	Client   string `json:"client_id"`
	Audience string `json:"aud"`
}) {
	t.Helper()
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	testkit.Must(t, err)
	testkit.Must(t, json.Unmarshal(payload, &out))
	return out
}
