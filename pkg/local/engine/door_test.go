package engine_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"svc/pkg/local/engine"
)

const (
	putThing  = `{"TableName":"things","Item":{"pk":{"S":"1"},"text":{"S":"a row of ours"}}}`
	readThing = `{"TableName":"things","Key":{"pk":{"S":"1"}}}`
)

func request(ctx context.Context, to, op, body, key, region string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+op)
	req.Header.Set("X-Amz-Date", time.Now().UTC().Format("20060102T150405Z"))
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+key+"/20260101/"+region+
		"/dynamodb/aws4_request, SignedHeaders=host;x-amz-date;x-amz-target, Signature=00")
	return req, nil
}

// TestDoor: only the whole URL leads to the data, and never for a web page. No command
// line shows it, and no other user reads a file with it. The data is there after a
// restart. The door closes when the engine ends by itself.
func TestDoor(t *testing.T) {
	o := engine.Options{Dir: t.TempDir()}
	for run := range 2 {
		e := start(t, o)
		if run == 0 {
			call(t, e.URL, "CreateTable", createThings)
			if code, body := call(t, e.URL, "PutItem", putThing); code != http.StatusOK {
				t.Fatalf("PutItem: %d %s", code, body)
			}
		}
		at, err := url.Parse(e.URL)
		if err != nil {
			t.Fatal(err)
		}
		host, secret := "http://"+at.Host, strings.Trim(at.Path, "/")
		page := http.Header{"Origin": {"https://evil.example"}}
		for _, c := range []struct {
			to     string
			header http.Header
			reads  bool
		}{
			{e.URL, nil, true}, {e.URL + "/", nil, true},
			{host, nil, false}, {host + "/", nil, false}, {host + "//", nil, false}, {host + "/%2e/", nil, false},
			{host + "/" + strings.Repeat("A", len(secret)), nil, false}, {host + "/" + secret[1:], nil, false},
			{e.URL + "A", nil, false}, {host + "/x/" + secret, nil, false},
			{e.URL, page, false}, {e.URL, http.Header{"Origin": {host}}, false},
			{e.URL, http.Header{"Sec-Fetch-Site": {"none"}}, false},
		} {
			want, methods := http.StatusOK, []string{http.MethodPost}
			if !c.reads {
				want, methods = http.StatusForbidden, []string{http.MethodPost, http.MethodOptions}
			}
			for _, method := range methods {
				status, text := read(t, method, c.to, c.header)
				if status != want || strings.Contains(text, "a row of ours") != c.reads {
					t.Errorf("start %d: %s %s %v: %d %s", run+1, method, c.to, c.header, status, text)
				}
			}
		}
		if kind() == engine.DynamoDBLocal { // its own port has another database for each access key id
			if _, text := read(t, http.MethodPost, e.Own(), nil); strings.Contains(text, "a row of ours") {
				t.Errorf("start %d: the engine's own port: %s", run+1, text)
			}
		}
		unseen(t, o.Dir, secret)
		if err := syscall.Kill(e.Pid(), syscall.SIGTERM); err != nil { // the engine ends by itself
			t.Fatal(err)
		}
		<-e.Exited()
		if c, err := net.Dial("tcp", at.Host); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("start %d: the door of an engine that ended: %v, %v", run+1, c, err)
		}
	}
}

// read asks for the row. No response may allow a web page to read it.
func read(t *testing.T, method, to string, header http.Header) (status int, text string) {
	t.Helper()
	req, err := request(t.Context(), to, "GetItem", readThing, "local", "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	req.Method = method
	for name, values := range header {
		req.Header[name] = values
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if allow := res.Header.Get("Access-Control-Allow-Origin"); allow != "" {
		t.Errorf("%s %s %v allows %s to read", method, to, header, allow)
	}
	return res.StatusCode, string(body)
}

// unseen fails if ps shows the URL's credential or the key of the folder, or if others
// may read the data.
func unseen(t *testing.T, dir, secret string) {
	t.Helper()
	key := "none"
	if text, err := os.ReadFile(filepath.Join(dir, "engine-key")); err == nil {
		key = strings.TrimSpace(string(text))
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(lines) == 0 {
		t.Fatalf("no command lines: %v", err)
	}
	for _, file := range lines {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		if strings.Contains(string(text), secret) || (key != "none" && strings.Contains(string(text), key)) {
			t.Errorf("%s shows a credential", file)
		}
	}
	for _, name := range []string{"engine-key", "dynoxide.db*", "dynamodb-local/" + key + "_*.db"} {
		files, _ := filepath.Glob(filepath.Join(dir, name))
		for _, file := range files {
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", file, info.Mode(), err)
			}
		}
	}
}

// TestLoopbackOnly: the door has one address of this machine, and dynoxide another one
// that a web page cannot guess.
func TestLoopbackOnly(t *testing.T) {
	e := start(t, engine.Options{Memory: true})
	addresses := map[string]string{e.URL: "127.0.0.2"}
	if kind() == engine.Dynoxide {
		addresses[e.Own()] = "127.0.0.1"
	}
	for to, other := range addresses {
		at, err := url.Parse(to)
		if err != nil {
			t.Fatal(err)
		}
		if !net.ParseIP(at.Hostname()).IsLoopback() {
			t.Errorf("%s is no loopback address", at.Host)
		}
		if c, err := net.Dial("tcp", net.JoinHostPort(other, at.Port())); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("what listens at %s also listens at %s: %v, %v", at.Host, other, c, err)
		}
	}
}

// TestDoorLosesNoConnection: clients that go away, large requests and many requests at
// once leave the door and the engine as they were.
func TestDoorLosesNoConnection(t *testing.T) {
	e := start(t, engine.Options{Memory: true})
	send := func(ctx context.Context, body io.Reader) (status int, err error) {
		req, err := request(ctx, e.URL, "ListTables", "", "local", "us-east-1")
		if err != nil {
			return 0, err
		}
		req.Body, req.ContentLength = io.NopCloser(body), -1
		req.Header.Set("Expect", "100-continue")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, err
		}
		defer res.Body.Close()
		_, err = io.ReadAll(res.Body)
		return res.StatusCode, err
	}
	const many = 32
	var all sync.WaitGroup
	for i := range 3 * many {
		all.Go(func() {
			switch i % 3 {
			case 0: // gone at some moment
				ctx, cancel := context.WithCancel(t.Context())
				all.Go(cancel)
				_, _ = send(ctx, strings.NewReader("{}"))
			case 1: // gone within its request
				body, half := io.Pipe()
				all.Go(func() { _, _ = io.WriteString(half, `{"Lim`); _ = half.CloseWithError(io.ErrUnexpectedEOF) })
				_, _ = send(t.Context(), body)
			default:
				large := `{"x":"` + strings.Repeat("x", 1<<20) + `"}`
				if status, err := send(t.Context(), strings.NewReader(large)); err != nil || status != http.StatusOK {
					t.Errorf("a large request: %d, %v", status, err)
				}
			}
		})
	}
	all.Wait()
	for range many {
		if status, err := send(t.Context(), strings.NewReader("{}")); err != nil || status != http.StatusOK {
			t.Fatalf("%d, %v", status, err)
		}
	}
}

// TestAnyClientBehindTheDoor: who has the URL sees the same data, whatever access
// key and region its own configuration has.
func TestAnyClientBehindTheDoor(t *testing.T) {
	e := start(t, engine.Options{Memory: true})
	call(t, e.URL, "CreateTable", createThings)
	call(t, e.URL, "PutItem", putThing)
	for _, key := range []string{"local", "other"} {
		for _, region := range []string{"us-east-1", "eu-central-1"} {
			req, err := request(t.Context(), e.URL+"/", "GetItem", readThing, key, region)
			if err != nil {
				t.Fatal(err)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if !strings.Contains(string(text), "a row of ours") {
				t.Errorf("%s in %s: %d %s", key, region, res.StatusCode, text)
			}
		}
	}
}

// TestOldFolder: a folder that DynamoDB Local filled for every access key id, as
// older builds ran it, opens.
func TestOldFolder(t *testing.T) {
	if kind() != engine.DynamoDBLocal {
		return // dynoxide's file is as it was
	}
	dir := t.TempDir()
	data := filepath.Join(dir, "dynamodb-local")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := free.Addr().(*net.TCPAddr)
	_ = free.Close()
	old, err := engine.Shared(at.Port, data)
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Start(); err != nil {
		t.Fatal(err)
	}
	for range 3000 { // five minutes
		if c, err := net.Dial("tcp", at.String()); err == nil {
			_ = c.Close()
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	call(t, "http://"+at.String(), "CreateTable", createThings)
	call(t, "http://"+at.String(), "PutItem", putThing)
	_ = old.Process.Signal(os.Interrupt)
	_ = old.Wait()
	for range 2 {
		e := start(t, engine.Options{Dir: dir})
		if _, body := call(t, e.URL, "GetItem", readThing); !strings.Contains(body, "a row of ours") {
			t.Errorf("the old folder: %s", body)
		}
		e.Stop()
	}
}
