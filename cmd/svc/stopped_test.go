package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"svc/internal/test/script"
	"svc/internal/test/testkit"
	"svc/pkg/local/engine"
)

// stopper is a proxy in front of the engine. It stops a process (SIGSTOP) when the
// table has answered the process's next read of an item, so that the process
// continues later with what it read before.
type stopper struct {
	read    atomic.Pointer[string] // part of the read's body; nil stops nothing
	pid     atomic.Int64
	stopped chan struct{}
}

func newStopper(t *testing.T, endpoint string) (*stopper, string) {
	t.Helper()
	target, err := url.Parse(endpoint)
	testkit.Must(t, err)
	s := &stopper{stopped: make(chan struct{}, 1)}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the process gave up
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		read := s.read.Load()
		if operation != "BatchGetItem" && operation != "GetItem" || read == nil || !strings.Contains(string(body), *read) ||
			!s.read.CompareAndSwap(read, nil) {
			forward.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		forward.ServeHTTP(answer, r)
		s.stop()
		s.stopped <- struct{}{}
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}))
	t.Cleanup(proxy.Close)
	return s, proxy.URL
}

// stop stops the process and returns when it stands: on a busy machine a signal takes
// its time, and the process would write meanwhile.
func (s *stopper) stop() {
	pid := int(s.pid.Load())
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	for deadline := time.Now().Add(testkit.Patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if stands(pid) {
			return
		}
	}
}

// stands reports whether every thread of a process is stopped. A system without /proc
// has ps; a bare Linux may have none.
func stands(pid int) bool {
	threads, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat") // the pattern is valid
	for _, file := range threads {
		text, err := os.ReadFile(file)
		_, state, _ := strings.Cut(string(text), ") ")
		if err == nil && !strings.HasPrefix(state, "T") {
			return false
		}
	}
	if len(threads) > 0 {
		return true
	}
	state, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.HasPrefix(strings.TrimSpace(string(state)), "T")
}

// beside runs svc dev on a data folder beside others that use the same engine.
func beside(t *testing.T, data, endpoint string) (*client, *process) {
	t.Helper()
	p := startDev(t, detachedProgram(t), data, endpoint)
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGCONT)
		_ = p.cmd.Process.Signal(os.Interrupt)
		<-p.ended
	})
	c := &client{world{T: t, data: data}, map[string]string{}}
	c.base = p.await(t)
	return c, p
}

// TestStoppedWithOldReads stops one of two processes between its reads and its
// write, as a frozen Lambda function or a paused machine is. Meanwhile the other
// process changes what was read. The stopped one then loses: its write is rejected,
// and it accepts no token that was revoked meanwhile.
func TestStoppedWithOldReads(t *testing.T) {
	testkit.Long(t)
	t.Setenv("TABLE_NAME", "")
	on, err := engine.Start(t.Context(), engine.Options{Memory: true})
	testkit.Must(t, err)
	t.Cleanup(on.Stop)
	stop, endpoint := newStopper(t, on.URL)
	slow, process := beside(t, t.TempDir(), endpoint) // it loads the demo
	stop.pid.Store(int64(process.cmd.Process.Pid))
	sealing, err := os.ReadFile(filepath.Join(slow.data, "sealing.key"))
	testkit.Must(t, err)
	fast, _ := beside(t, sealed(t, sealing), on.URL)
	fast.tokens["driver"] = fast.token("driver", "driver2@metro.example")
	operator := fast.token("dashboard", "operator@metro.example")
	slow.tokens["driver"] = slow.token("driver", "driver1@metro.example")

	for round := range 3 {
		ride := script.Ride{Asks: `"paymentType":"WALLET"`, Fare: "10", Key: fmt.Sprint("round-", round)}
		ride.ID = slow.ride(ride, "request")
		id := ride.ID
		slow.ok("verify") // returns when the stream functions, which also read the trip, have done their work
		stop.read.Store(&id)
		lost := make(chan response, 1)
		go func() {
			a, err := slow.send(http.MethodPost, "driver", "/api/v1/me/trips/"+id+"/accept", "", "accept-"+id)
			if err != nil {
				a.body = err.Error()
			}
			lost <- a
		}()
		<-stop.stopped
		if round == 0 {
			fast.expect("/api/v1/trips", operator, 200, "")
			fast.ok("token", "revoke", jti(t, operator))
		}
		fast.must(http.MethodPost, "driver", "/api/v1/me/trips/"+id+"/accept", "", "accept-"+id)
		testkit.Must(t, process.cmd.Process.Signal(syscall.SIGCONT))
		if a := <-lost; a.status != http.StatusConflict {
			t.Errorf("the stopped process accepted %s too: %d %s", id, a.status, a.body)
		}
		slow.expect("/api/v1/trips", operator, 401, "unauthorized")
		fast.ride(ride, script.Steps[2:]...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for {
		out, errs, code := slow.run("verify")
		if code == 0 {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("verify: %d %s %s", code, out, errs)
		}
	}
}

// jti returns the identifier of an access token.
func jti(t *testing.T, token string) string {
	t.Helper()
	text, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	testkit.Must(t, err)
	var claims struct{ JTI string }
	testkit.Must(t, json.Unmarshal(text, &claims))
	return claims.JTI
}
