package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/shopspring/decimal"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/background/projection"
	"svc/pkg/data/counter"
	"svc/pkg/data/table"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
	"svc/pkg/local/folder"
)

// killedAfterAWrite runs svc rebuild as a separate process. It kills the
// process (SIGKILL) after the table has made so many changes and before the
// process gets the response to the last one. It returns how many there were.
func (w *world) killedAfterAWrite(running folder.Running, most int) int {
	w.Helper()
	target, err := url.Parse(running.Endpoint)
	testkit.Must(w.T, err)
	program := detachedProgram(w.T)
	ctx, kill := context.WithCancel(w.Context()) // when ctx ends, exec sends SIGKILL
	defer kill()
	cmd := exec.CommandContext(ctx, program, "rebuild")
	var changes atomic.Int64
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(answer *http.Response) error {
			_, operation, _ := strings.Cut(answer.Request.Header.Get("X-Amz-Target"), ".")
			if operation == "TransactWriteItems" && answer.StatusCode == http.StatusOK {
				if changes.Add(1) == int64(most) {
					kill()
				}
			}
			return nil
		}}
	proxy := httptest.NewServer(forward)
	defer proxy.Close()
	cmd.Env = append(os.Environ(), asProgram+"=1", "TABLE_NAME="+running.Table, "AWS_ENDPOINT_URL_DYNAMODB="+proxy.URL,
		"AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "AWS_REGION=eu-central-1")
	out, err := cmd.CombinedOutput()
	proxy.Close()
	made := int(changes.Load())
	if made < most && err != nil {
		w.Fatalf("svc rebuild: %v %s", err, out)
	}
	return made
}

// TestRebuildKilled kills svc rebuild after one of its changes. The next run continues the
// work, and is killed at a later change. In the end every sum is exact.
func TestRebuildKilled(t *testing.T) {
	testkit.Long(t)
	w := start(t)
	running, err := folder.Find(t.Context(), w.data)
	testkit.Must(t, err)
	db, err := table.Open(t.Context(), table.Options{Table: running.Table, Endpoint: running.Endpoint})
	testkit.Must(t, err)
	n, err := tenant.Store{DB: db}.BySlug(t.Context(), "metro")
	testkit.Must(t, err)
	metro := db.Tenant(n.ID)
	page, err := metro.Query(t.Context(), metro.Partition("STATUS", string(trip.Completed), "0"),
		table.Query{Index: 2, Limit: 3})
	testkit.Must(t, err)
	changes, tx := counter.Changes{}, metro.Write()
	changes.Add(counter.Customers, "count", decimal.NewFromInt(13625-1280))
	changes.Add(counter.DriverWallets, "balance", decimal.NewFromInt(777))
	changes.Write(tx, metro, 0)
	for i, it := range page.Items {
		tr, err := trip.FromItem(it)
		testkit.Must(t, err)
		tx.Delete(receipt.Key(metro, tr.ID))
		tx.Delete(projection.CountedKey(it.Key))
		if i == 0 {
			tx.Update(authz.ActorKey(metro, authz.Driver, *tr.DriverID),
				table.Change{Add: map[string]any{"totalTrips": 50, "version": 1}})
			tx.Update(wallet.Key(metro, wallet.Driver, *tr.DriverID),
				table.Change{Add: map[string]any{"balance": 777, "version": 1}})
		}
	}
	testkit.Must(t, tx.Commit(t.Context()))
	made := 0
	for p := range testkit.Points(t, 100) {
		n := w.killedAfterAWrite(running, p.Step)
		p.Reached(n >= p.Step)
		made += n
	}
	if made < 5 {
		t.Errorf("only %d changes", made)
	}
	if out, errs, code := w.run("verify"); code != 0 {
		t.Errorf("verify: %d %s %s", code, out, errs)
	}
}
