package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/test/script"
	"svc/internal/test/testkit"
	"svc/pkg/data/table"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
	"svc/pkg/local/engine"
	"svc/pkg/local/folder"
)

// moment is when the test sends SIGKILL to the process.
type moment string

const (
	beforeWrite moment = "before the engine has the write"
	afterWrite  moment = "when the engine has the write, before the service knows"
	afterAnswer moment = "when the response has left the service"
)

// killable runs svc dev as a separate process on a data folder. The test runs
// the folder's engine, behind a proxy that sees each write. kill ends the service
// and the engine, because the engine of a real svc dev ends with svc dev.
type killable struct {
	client
	metro table.Tenant

	mu      sync.Mutex
	engine  *engine.Engine
	process *process
	when    moment
	write   string // what the awaited write contains
	wrote   bool   // the awaited write was seen
}

// start starts the engine and the service on the folder, and returns when the
// service is ready.
func (k *killable) start() {
	k.Helper()
	ctx, cancel := context.WithTimeout(k.Context(), 10*time.Minute)
	defer cancel()
	own, err := engine.Start(ctx, engine.Options{Kind: engine.Dynoxide, Dir: k.data, Stderr: io.Discard})
	testkit.Must(k.T, err)
	proxy := httptest.NewServer(k.proxy(own))
	program := detachedProgram(k.T)
	p := startDev(k.T, program, k.data, proxy.URL)
	go func() { <-p.ended; proxy.Close() }()
	k.mu.Lock()
	k.engine, k.process = own, p
	k.mu.Unlock()
	k.Cleanup(k.end)
	k.base, k.tokens = p.await(k.T), map[string]string{}
	running, err := folder.Find(ctx, k.data)
	testkit.Must(k.T, err)
	db, err := table.Open(ctx, table.Options{Table: running.Table, Endpoint: own.URL})
	testkit.Must(k.T, err)
	n, err := tenant.Store{DB: db}.BySlug(ctx, "metro")
	testkit.Must(k.T, err)
	k.metro = db.Tenant(n.ID)
}

// kill sends SIGKILL to the service and its engine.
func (k *killable) kill() {
	k.mu.Lock()
	p, on := k.process, k.engine
	k.mu.Unlock()
	_ = p.cmd.Process.Kill() // the process may have ended
	on.Kill()
}

// end kills the service and the engine, and waits until the service has ended.
func (k *killable) end() {
	k.kill()
	<-k.process.ended
}

// restart starts the service and the engine again after a kill.
func (k *killable) restart() {
	k.Helper()
	k.end()
	k.start()
}

// await arms the proxy for a transaction that contains the text.
func (k *killable) await(when moment, write string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.when, k.write, k.wrote = when, write, false
}

// due reports whether a request is the awaited write and the moment is the
// chosen one.
func (k *killable) due(r *http.Request, body []byte, at moment) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.when != at || k.wrote || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") ||
		!bytes.Contains(body, []byte(k.write)) {
		return false
	}
	k.wrote = true
	return true
}

// proxy forwards requests to the engine, and kills the service at the chosen
// moment.
func (k *killable) proxy(to *engine.Engine) http.Handler {
	target, err := url.Parse(to.URL)
	testkit.Must(k.T, err)
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler) // the service was killed while it sent this
		}
		if k.due(r, body, beforeWrite) {
			k.kill()
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer := httptest.NewRecorder()
		forward.ServeHTTP(answer, r)
		if answer.Code == http.StatusOK && k.due(r, body, afterWrite) {
			k.kill()
			panic(http.ErrAbortHandler)
		}
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})
}

// lost makes a change whose response is lost, because the service is killed. It
// repeats the change after the restart, twice.
func (k *killable) lost(when moment, c script.Call, write string) {
	k.Helper()
	k.await(when, write)
	first, err := k.send(http.MethodPost, string(c.As), c.Path, c.Body, c.Key)
	if (err == nil) != (when == afterAnswer) {
		k.Fatalf("%s, %s: %v %d %s", c.Path, when, err, first.status, first.body)
	}
	k.restart()
	again := k.must(http.MethodPost, string(c.As), c.Path, c.Body, c.Key)
	if again.replayed != (when != beforeWrite) {
		k.Errorf("%s, killed %s: the repeated change is a replay: %v", c.Path, when, again.replayed)
	}
	if when == afterAnswer && first.body != again.body {
		k.Errorf("%s: first %s, then %s", c.Path, first.body, again.body)
	}
	last := k.must(http.MethodPost, string(c.As), c.Path, c.Body, c.Key)
	if last != (response{again.status, again.body, true}) {
		k.Errorf("%s: %v, then %v", c.Path, again, last)
	}
}

// losing takes a ride, and before each of its calls runs first. It returns the trip's id.
func (k *killable) losing(r script.Ride, first func(script.Call)) string {
	k.Helper()
	id, err := r.Take(func(c script.Call) (json.RawMessage, error) {
		first(c)
		return k.step(c)
	})
	testkit.Must(k.T, err)
	return id
}

// changedOnce checks that each of the trip's five changes happened once.
func (k *killable) changedOnce(id string) trip.Trip {
	k.Helper()
	it, err := k.metro.Get(k.Context(), trip.Key(k.metro, id))
	testkit.Must(k.T, err)
	tr, err := trip.FromItem(it)
	testkit.Must(k.T, err)
	entries, err := trip.Log(k.Context(), k.metro, tr)
	testkit.Must(k.T, err)
	if tr.Status != trip.Completed || tr.Version != 5 || len(entries) != 5 {
		k.Errorf("trip %s is %s, version %d with %d entries in its log", id, tr.Status, tr.Version, len(entries))
	}
	return tr
}

// settled waits until the trip has its receipt.
func (k *killable) settled(id string) {
	k.Helper()
	for deadline := time.Now().Add(testkit.Patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		it, err := k.metro.Get(k.Context(), receipt.Key(k.metro, id))
		testkit.Must(k.T, err)
		if it.Found() {
			return
		}
	}
	k.Fatalf("trip %s has no receipt", id)
}

// debits returns the rider's balance in cents and the number of the rider's
// postings.
func (k *killable) debits(rider string) (cents int64, postings int) {
	k.Helper()
	key := wallet.Key(k.metro, wallet.Customer, rider)
	it, err := k.metro.Get(k.Context(), key)
	testkit.Must(k.T, err)
	page, err := k.metro.Query(k.Context(), key.PK, table.Query{Prefix: "POSTING#", Limit: 100, Consistent: true})
	testkit.Must(k.T, err)
	w, err := wallet.FromItem(it)
	testkit.Must(k.T, err)
	return w.Balance.Shift(2).IntPart(), len(page.Items)
}

// TestKilledBeforeItsAnswer kills the service (SIGKILL) at an acceptance, at a
// completion and at the settlement that debits the rider's wallet: before the
// write, between the write and its response, and when the response is on its
// way. After a restart on the same folder the same Idempotency-Key gets the
// same answer, and there is exactly one effect.
func TestKilledBeforeItsAnswer(t *testing.T) {
	testkit.Long(t)
	t.Setenv("TABLE_NAME", "")
	const byWallet = `"paymentType":"WALLET"`
	k := &killable{client: client{world: world{T: t, data: t.TempDir()}}}
	k.start()
	// The first ride makes sure that the wallet exists.
	var rider string
	var before int64
	var had int
	for i, when := range []moment{"", beforeWrite, afterWrite, afterAnswer} {
		id := k.losing(script.Ride{Asks: byWallet, Fare: "12.5", Key: fmt.Sprint("ride-", i)}, func(c script.Call) {
			if write := map[string]string{"accept": `{"S":"ASSIGNED"}`, "complete": `{"S":"COMPLETED"}`}[c.Step]; when != "" &&
				write != "" {
				k.lost(when, c, write)
			}
		})
		k.settled(id)
		if rider = k.changedOnce(id).CustomerID; i == 0 {
			before, had = k.debits(rider)
		}
	}
	for i, when := range []moment{beforeWrite, afterWrite} {
		var last response
		id := k.losing(script.Ride{Asks: byWallet, Fare: "12.5", Key: fmt.Sprint("settled-", i)}, func(c script.Call) {
			if c.Step != "complete" {
				return
			}
			k.await(when, `{"S":"receipt"}`)
			// The kill may come before the response.
			_, _ = k.send(http.MethodPost, string(c.As), c.Path, c.Body, c.Key)
			<-k.process.ended
			k.restart()
			last = k.must(http.MethodPost, string(c.As), c.Path, c.Body, c.Key)
		})
		if !last.replayed {
			t.Errorf("the settlement was killed %s: the completion happened again: %s", when, last.body)
		}
		k.settled(id)
		k.changedOnce(id)
	}
	if after, has := k.debits(rider); has != had+5 || after != before-5*1250 {
		t.Errorf("5 rides of 12.50 took %d cents in %d postings", before-after, has-had)
	}
	if out, errs, code := k.run("verify"); code != 0 {
		t.Errorf("verify: %d %s %s", code, out, errs)
	}
}
