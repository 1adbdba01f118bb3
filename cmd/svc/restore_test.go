package main

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/oauth/flow"
)

// TestRestoreFinish: after svc restore finish, every earlier token, refresh
// token and link is invalid, for every audience. Everybody signs in again with
// the same password, and the audit log says why.
func TestRestoreFinish(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	w := start(t)
	people := map[string]string{"dashboard": "operator@metro.example", "rider": "rider1@metro.example",
		"driver": "driver1@metro.example"}
	before := map[string]flow.Tokens{}
	for audience, email := range people {
		tokens, err := flow.Token(t.Context(), flow.Options{BaseURL: w.base, Tenant: "metro", Audience: audience,
			Email: email, Password: "demo-password"})
		if err != nil {
			t.Fatalf("%s: %v", audience, err)
		}
		if before[audience] = tokens; tokens.RefreshToken == "" {
			t.Fatalf("%s got no refresh token", audience)
		}
		w.expect("/api/v1/me", tokens.AccessToken, 200, "")
	}
	link := strings.TrimSpace(w.ok("person", "link", "rider2@metro.example", "--audience", "rider", "--tenant", "metro"))
	if got := status(t, link); got != http.StatusOK {
		t.Fatalf("the page of a fresh link: %d", got)
	}

	if _, errs, code := w.run("restore", "finish"); code != 2 || !strings.Contains(errs, "--yes") {
		t.Errorf("without --yes: %d %s", code, errs)
	}
	w.expect("/api/v1/me", before["rider"].AccessToken, 200, "")
	type finished struct {
		Tenant                     string
		Operators, Riders, Drivers int
	}
	var metro finished
	for _, one := range read[[]finished](w, "restore", "finish", "--yes") {
		if one.Tenant == "metro" {
			metro = one
		}
	}
	if metro.Operators == 0 || metro.Riders == 0 || metro.Drivers == 0 {
		t.Errorf("ended in metro: %+v", metro)
	}

	for audience, email := range people {
		w.expect("/api/v1/me", before[audience].AccessToken, 401, "unauthorized")
		res, err := http.PostForm(w.base+"/oauth/token", url.Values{"grant_type": {"refresh_token"},
			"refresh_token": {before[audience].RefreshToken}, "client_id": {before[audience].ClientID}})
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: the refresh token gets %d", audience, res.StatusCode)
		}
		signsInAgain(w, audience, email)
	}
	if got := status(t, link); got == http.StatusOK {
		t.Error("a link from before is still good")
	}
	if log := w.ok("audit", "metro"); !strings.Contains(log, "restore.finish") {
		t.Errorf("the audit log does not say so:\n%s", log)
	}
}

// signsInAgain expects that a person gets a valid token. The service reads its keys once a
// minute. A token that it signs before that is signed by a key that the command revoked,
// so that token ends with the read. The next one does not.
func signsInAgain(w *world, audience, email string) {
	w.Helper()
	if got, word := w.get("/api/v1/me", w.token(audience, email)); got == 401 && word == "unauthorized" {
		w.expect("/api/v1/me", w.token(audience, email), 200, "")
	} else if got != 200 {
		w.Errorf("%s after the next sign-in: %d %s", audience, got, word)
	}
}

// TestSealingKeyLost: with another sealing key nobody can sign in. After svc
// restore finish, people can sign in at a process that rereads the keys.
func TestSealingKeyLost(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	w := &world{T: t, data: demoFolder(t)}
	if err := os.Remove(filepath.Join(w.data, "sealing.key")); err != nil {
		t.Fatal(err)
	}
	_, _, stop := devFor(t, w.data, hasDemo)
	signIn := []string{"token", "get", "--tenant", "metro", "--audience", "rider", "--email", "rider1@metro.example",
		"--password", "demo-password"}
	if _, _, code := w.run(signIn...); code == 0 {
		stop()
		t.Fatal("somebody signs in with keys that nobody can open")
	}
	w.ok("restore", "finish", "--yes")
	stop()
	_, _, stop = devFor(t, w.data, hasDemo)
	defer stop()
	w.ok(signIn...)
}

// status fetches a page as a browser does and returns its status.
func status(t *testing.T, address string) int {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{Jar: jar}).Get(address)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}
