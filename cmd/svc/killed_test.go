package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc"
	"svc/cmd/svc/cli"
	"svc/internal/test/testkit"
	"svc/pkg/access/signing"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
	"svc/pkg/local/engine"
	"svc/pkg/local/folder"
	"svc/pkg/local/schema"
)

// killer runs commands as processes that reach a service over a proxy, and kills
// them.
type killer struct {
	*testing.T
	data string       // the commands' data folder
	left atomic.Int64 // changes of the table until the kill
	kill atomic.Pointer[context.CancelFunc]
}

func newKiller(t *testing.T, running folder.Running, sealing []byte) *killer {
	t.Helper()
	target, err := url.Parse(running.Endpoint)
	testkit.Must(t, err)
	k := &killer{T: t, data: sealed(t, sealing)}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: k.changed})
	t.Cleanup(proxy.Close)
	lock, err := folder.Lock(k.data)
	testkit.Must(t, err)
	t.Cleanup(func() { folder.Unlock(k.data, lock) })
	running.Endpoint, running.Data = proxy.URL, k.data
	testkit.Must(t, folder.Write(running))
	return k
}

// sealed returns a new data folder with the sealing key.
func sealed(t *testing.T, sealing []byte) string {
	t.Helper()
	dir := t.TempDir()
	testkit.Must(t, os.WriteFile(filepath.Join(dir, "sealing.key"), sealing, 0o600))
	return dir
}

// changed kills the command when the table has made the last of the changes that
// run allows, before the command hears of it.
func (k *killer) changed(answer *http.Response) error {
	_, operation, _ := strings.Cut(answer.Request.Header.Get("X-Amz-Target"), ".")
	switch operation {
	case "TransactWriteItems", "BatchWriteItem", "PutItem", "UpdateItem", "DeleteItem":
		if answer.StatusCode == http.StatusOK && k.left.Add(-1) == 0 {
			(*k.kill.Load())()
		}
	}
	return nil
}

// run runs a command and kills it (SIGKILL) after a number of changes. It reports
// whether the command was killed, and its output.
func (k *killer) run(changes int, input string, args ...string) (killed bool, out string) {
	k.Helper()
	program := detachedProgram(k.T)
	ctx, kill := context.WithCancel(k.Context()) // when ctx ends, exec sends SIGKILL
	defer kill()
	k.kill.Store(&kill)
	k.left.Store(int64(changes))
	cmd := exec.CommandContext(ctx, program, append(args, "--data", k.data)...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "TABLE_NAME=", "AWS_ENDPOINT_URL_DYNAMODB=")
	cmd.Stdin = strings.NewReader(input)
	text, err := cmd.CombinedOutput()
	if killed = ctx.Err() != nil; !killed && err != nil {
		return false, "failed: " + string(text)
	}
	return killed, string(text)
}

// killer returns a killer of commands on the world's service.
func (w *world) killer() *killer {
	w.Helper()
	running, err := folder.Find(w.Context(), w.data)
	testkit.Must(w.T, err)
	sealing, err := os.ReadFile(filepath.Join(running.Data, "sealing.key"))
	testkit.Must(w.T, err)
	return newKiller(w.T, running, sealing)
}

// ageSeed makes the last sign of life of the tenant's run of svc seed an hour old.
func (w *world) ageSeed(slug string) {
	w.Helper()
	db := w.opened()
	tn := w.handleOf(db, slug)
	page, err := tn.Query(w.Context(), tn.Partition("SEED"), table.Query{Limit: 2})
	testkit.Must(w.T, err)
	if len(page.Items) != 1 {
		w.Fatalf("there are %d runs of svc seed, want one", len(page.Items))
	}
	doc, long := map[string]any{}, time.Now().Add(-time.Hour)
	testkit.Must(w.T, page.Items[0].Decode(&doc))
	doc["beat"] = timestamp.Format(long)
	text, err := json.Marshal(doc)
	testkit.Must(w.T, err)
	tx := tn.Write()
	tx.Update(page.Items[0].Key, table.Change{Set: map[string]any{"doc": string(text)}})
	testkit.Must(w.T, tx.Commit(w.Context()))
}

// TestSeedKilled kills svc seed at its start and amid its trips. The next run is rejected
// until the killed one is surely dead, and then completes it: each trip once.
func TestSeedKilled(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	w := start(t)
	k := w.killer()
	seed := []string{"seed", "--tenant", "metro", "--trips", "60"}
	for _, changes := range []int{1, 20} {
		if killed, out := k.run(changes, "", seed...); !killed {
			t.Fatalf("after %d changes at most: %s", changes, out)
		}
		if _, errs, code := w.run(seed...); code == 0 || !strings.Contains(errs, "Another svc seed is running") {
			t.Fatalf("beside a run that was just killed: %d %s", code, errs)
		}
		w.ageSeed("metro")
	}
	if out := w.ok(seed...); !strings.Contains(out, "Completed the interrupted load of 60 trips") {
		t.Errorf("%s", out)
	}
	w.ok("verify") // returns when the stream functions have counted everything
	var counted []rebuildResult
	testkit.Must(t, json.Unmarshal([]byte(w.ok("rebuild", "metro", "--json")), &counted))
	for _, one := range counted {
		if one.Examined["trip"] != 85 || len(one.Settled) > 0 || len(one.Keys) > 0 { // the demo has 25
			t.Errorf("rebuild: %+v", one)
		}
	}
}

// TestTenantDeleteKilled kills a deletion after each of several numbers of
// changes. The tenant is off from the first one on. The last run ends the
// deletion, and leaves nothing of the tenant.
func TestTenantDeleteKilled(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	w := start(t)
	w.everyone()
	metro := read[tenant.Tenant](w, "tenant", "show", "metro")
	rider := w.token("rider", "rider1@metro.example")
	k := w.killer()
	for _, changes := range []int{2, 3, 4, 3} { // the first change of each run checks the right to delete
		if killed, out := k.run(changes, "metro\n", "tenant", "delete", "metro", "--yes"); !killed {
			t.Fatalf("the deletion was not killed after %d changes: %s", changes, out)
		}
		w.expect("/api/v1/me", rider, 401, "unauthorized")
		if _, errs, code := w.run("rider", "list", "metro"); code != cli.ExitFailure ||
			!strings.Contains(errs, "svc tenant delete") {
			t.Errorf("another command: %d %s", code, errs)
		}
	}
	if _, errs, code := w.remove(t.Context(), "metro", "metro\n", "--yes"); code != 0 {
		t.Fatal(errs)
	}
	for key, text := range w.stored() {
		if strings.Contains(key+text, metro.ID) && !roadmap(key) && !strings.HasPrefix(key, "DELETED#") {
			t.Errorf("%s names the tenant: %s", key, text)
		}
	}
	w.ok("tenant", "create", "metro")
	w.ok("verify")
}

// TestKeysRotateKilled kills svc keys rotate, on a table without keys, after each
// of its changes. In the end each algorithm has one key that signs and at most one
// that waits, and the service issues tokens that it accepts.
func TestKeysRotateKilled(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	on, err := engine.Start(t.Context(), engine.Options{Memory: true})
	testkit.Must(t, err)
	t.Cleanup(on.Stop)
	_, err = schema.EnsureTable(t.Context(), on.URL, svc.Template, schema.Options{Name: schema.DefaultName})
	testkit.Must(t, err)
	healthy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(healthy.Close)
	file := filepath.Join(t.TempDir(), "sealing.key")
	_, err = signing.FileSealer(file) // makes the key
	testkit.Must(t, err)
	sealing, err := os.ReadFile(file)
	testkit.Must(t, err)
	k := newKiller(t, folder.Running{BaseURL: healthy.URL, Endpoint: on.URL, Table: schema.DefaultName}, sealing)
	kills := 0
	for {
		killed, out := k.run(1, "", "keys", "rotate")
		if strings.HasPrefix(out, "failed: ") || kills > 20 {
			t.Fatalf("after %d kills: %s", kills, out)
		}
		if !killed {
			break
		}
		kills++
	}
	if kills < 2 { // one for each algorithm
		t.Errorf("only %d kills", kills)
	}
	w := &world{T: t, data: sealed(t, sealing)}
	p := startDev(t, detachedProgram(t), w.data, on.URL)
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(os.Interrupt)
		<-p.ended
	})
	w.base = p.await(t)
	states := map[string]map[string]int{}
	for _, row := range read[[]struct{ Alg, State string }](w, "keys", "list") {
		if states[row.Alg] == nil {
			states[row.Alg] = map[string]int{}
		}
		states[row.Alg][row.State]++
	}
	if len(states) != 2 {
		t.Errorf("%v", states)
	}
	for alg, of := range states {
		if of["signing"] != 1 || of["waiting"] > 1 {
			t.Errorf("%s: %v", alg, of)
		}
	}
	w.expect("/api/v1/me", w.token("rider", "rider1@metro.example"), 200, "")
}
