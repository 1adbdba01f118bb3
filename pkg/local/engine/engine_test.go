package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"svc/pkg/local/engine"
)

// kind returns the engine under test, which the environment selects.
func kind() string {
	if k := os.Getenv("SVC_ENGINE"); k != "" {
		return k
	}
	return engine.Dynoxide
}

// TestMain runs the tests. As the child process of TestKilledParent it instead
// starts an engine and waits to be killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("ENGINE_TEST_PARENT"); dir != "" {
		e, err := engine.Start(context.Background(), engine.Options{Kind: kind(), Dir: dir})
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println(e.URL, e.Pid())
		select {}
	}
	os.Exit(m.Run())
}

func start(t *testing.T, o engine.Options) *engine.Engine {
	t.Helper()
	o.Kind = kind()
	e, err := engine.Start(t.Context(), o)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(e.Stop)
	return e
}

// call sends one DynamoDB operation without an SDK.
func call(t *testing.T, url, op, body string) (int, string) {
	t.Helper()
	req, err := request(t.Context(), url+"/", op, body, "local", "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s: %v", op, err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s: %v", op, err)
	}
	return res.StatusCode, string(got)
}

const createThings = `{"TableName":"things","BillingMode":"PAY_PER_REQUEST",
	"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
	"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}`

func tables(t *testing.T, url string) string {
	t.Helper()
	code, body := call(t, url, "ListTables", "{}")
	if code != http.StatusOK {
		t.Fatalf("ListTables: %d %s", code, body)
	}
	return body
}

func TestMemoryKeepsNothing(t *testing.T) {
	e := start(t, engine.Options{Memory: true, Dir: t.TempDir()})
	if code, body := call(t, e.URL, "CreateTable", createThings); code != http.StatusOK {
		t.Fatalf("CreateTable: %d %s", code, body)
	}
	e.Stop()
	e.Stop() // twice does no harm
	select {
	case <-e.Exited():
	default:
		t.Fatal("the engine still runs after Stop")
	}
	again := start(t, engine.Options{Memory: true})
	if got := tables(t, again.URL); strings.Contains(got, "things") {
		t.Errorf("a new engine in memory has tables: %s", got)
	}
}

func TestDataOutlivesTheEngine(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	e := start(t, engine.Options{Dir: dir})
	if code, body := call(t, e.URL, "CreateTable", createThings); code != http.StatusOK {
		t.Fatalf("CreateTable: %d %s", code, body)
	}
	e.Stop()
	e = start(t, engine.Options{Dir: dir})
	if got := tables(t, e.URL); !strings.Contains(got, "things") {
		t.Errorf("after a restart: %s", got)
	}
}

func TestSideBySide(t *testing.T) {
	a, b := start(t, engine.Options{Memory: true}), start(t, engine.Options{Memory: true})
	if a.URL == b.URL {
		t.Fatalf("two engines at %s", a.URL)
	}
	call(t, a.URL, "CreateTable", createThings)
	if got := tables(t, b.URL); strings.Contains(got, "things") {
		t.Errorf("one engine sees the other's table: %s", got)
	}
}

// TestKilledParent kills a process that runs an engine (SIGKILL). The engine
// ends too, and the next engine opens the same data.
// parent starts a process that starts an engine and waits to be killed. It returns the engine's
// address and process id.
func parent(t *testing.T, dir string) (p *exec.Cmd, url string, pid int) {
	t.Helper()
	p = exec.Command(os.Args[0])
	p.Env = append(os.Environ(), "ENGINE_TEST_PARENT="+dir)
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscan(out, &url, &pid); err != nil {
		t.Fatalf("the helper started no engine: %v", err)
	}
	return p, url, pid
}

// TestKilledParent: an engine ends when its process is killed while requests are sent. Every
// transaction that it answered is there afterwards.
func TestKilledParent(t *testing.T) {
	dir := t.TempDir()
	var written [][]string // by writer
	for round := range 4 {
		p, url, pid := parent(t, dir)
		if round == 0 {
			if code, body := call(t, url, "CreateTable", createThings); code != http.StatusOK {
				t.Fatalf("CreateTable: %d %s", code, body)
			}
		}
		var answers atomic.Int64
		var writers sync.WaitGroup
		written = append(written, make([][]string, 8)...)
		for n := range 8 {
			mine := &written[len(written)-8+n]
			writers.Go(func() {
				for {
					key := fmt.Sprintf("k%d-%d-%d", round, n, len(*mine))
					if !wrote(t, url, key) {
						return
					}
					*mine = append(*mine, key)
					if answers.Add(1) == 100 {
						_ = p.Process.Kill()
					}
				}
			})
		}
		writers.Wait()
		_ = p.Wait() // killed, as meant
		awaitGone(t, pid)
	}
	e := start(t, engine.Options{Dir: dir})
	for _, key := range slices.Concat(written...) {
		if _, got := call(t, e.URL, "GetItem", `{"TableName":"things","Key":{"pk":{"S":"`+key+`"}}}`); !strings.Contains(got, key) {
			t.Errorf("after kill -9, %s is gone: %s", key, got)
		}
	}
}

// wrote writes an item in a transaction, and reports whether the engine answered that it did.
func wrote(t *testing.T, url, key string) bool {
	body := `{"TransactItems":[{"Put":{"TableName":"things","Item":{"pk":{"S":"` + key + `"}}}}]}`
	req, err := request(t.Context(), url+"/", "TransactWriteItems", body, "local", "us-east-1")
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err == nil && res.StatusCode == http.StatusOK
}

func awaitGone(t *testing.T, pid int) {
	t.Helper()
	for range 30_000 { // ten minutes
		if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) || zombie(pid) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	t.Fatalf("the engine (pid %d) outlived its parent", pid)
}

// zombie reports whether a process has ended and only waits until its new
// parent process collects it.
func zombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && bytes.Contains(stat, []byte(") Z "))
}

func TestErrorsAreOneClearLine(t *testing.T) {
	empty := t.TempDir()
	brokenDir := t.TempDir()
	file := filepath.Join(brokenDir, "dynoxide.db")
	if kind() == engine.DynamoDBLocal {
		file = filepath.Join(brokenDir, "dynamodb-local", "shared-local-instance.db")
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("this is no database at all, not even close"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		o    engine.Options
		env  map[string]string
		want []string
	}{
		{name: "broken data file", o: engine.Options{Kind: kind(), Dir: brokenDir}, want: []string{file, "broken", "--data"}},
		{name: "unknown engine", env: map[string]string{"SVC_ENGINE": "mongodb"}, want: []string{`"mongodb"`, "dynoxide",
			"dynamodb-local"}},
		{name: "dynoxide missing", o: engine.Options{Kind: engine.Dynoxide}, env: map[string]string{"cwd": empty},
			want: []string{"make"}},
		{name: "DynamoDB Local missing", o: engine.Options{Kind: engine.DynamoDBLocal}, env: map[string]string{"cwd": empty},
			want: []string{"make dynamodb-local"}},
		{name: "data folder is a file", o: engine.Options{Kind: kind(), Dir: filepath.Join(file, "x")},
			want: []string{"data folder"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "")
			t.Setenv("SVC_ENGINE_PATH", "")
			for k, v := range tc.env {
				if k == "cwd" {
					t.Chdir(v)
				} else {
					t.Setenv(k, v)
				}
			}
			e, err := engine.Start(t.Context(), tc.o)
			if err == nil {
				e.Stop()
				t.Fatal("Start worked")
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %v", err)
			}
			for _, w := range tc.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q lacks %q", err, w)
				}
			}
		})
	}
}

// If a file has the header of a database but invalid content, the engine itself
// reports it.
func TestTornDataFile(t *testing.T) {
	if kind() != engine.Dynoxide {
		return // DynamoDB Local opens any file that begins right, and fails later
	}
	dir := t.TempDir()
	e := start(t, engine.Options{Dir: dir})
	call(t, e.URL, "CreateTable", createThings)
	e.Stop()
	file := filepath.Join(dir, "dynoxide.db")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 24; i < len(data); i++ {
		data[i] = 0xA5
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	e, err = engine.Start(t.Context(), engine.Options{Kind: engine.Dynoxide, Dir: dir})
	if err == nil {
		e.Stop()
		t.Fatal("Start worked on a torn file")
	}
	if !strings.Contains(err.Error(), file) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error: %v", err)
	}
}

func TestExternalEngineIsLeftAlone(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://engine.example:8000/")
	e, err := engine.Start(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if e.URL != "http://engine.example:8000" || e.Kind != engine.External || e.Pid() != 0 || e.Exited() != nil {
		t.Errorf("got %+v", e)
	}
	e.Stop()
}

func TestCancelledStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if e, err := engine.Start(ctx, engine.Options{Kind: kind(), Memory: true}); !errors.Is(err, context.Canceled) {
		e.Stop()
		t.Fatalf("Start under a cancelled context: %v", err)
	}
}
