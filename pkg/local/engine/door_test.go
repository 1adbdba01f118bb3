package engine_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"svc/pkg/local/engine"
)

// listening returns the addresses of all TCP sockets that listen in this network
// namespace.
func listening(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // no IPv6
		}
		for _, line := range strings.Split(string(text), "\n")[1:] {
			field := strings.Fields(line)
			if len(field) < 4 || field[3] != "0A" {
				continue
			}
			at, hexPort, _ := strings.Cut(field[1], ":")
			port, err := strconv.ParseUint(hexPort, 16, 16)
			if err != nil {
				t.Fatal(err)
			}
			host := "127.0.0.1"
			if b, err := strconv.ParseUint(at, 16, 32); len(at) == 8 && err == nil && b != 0 {
				host = net.IPv4(byte(b), byte(b>>8), byte(b>>16), byte(b>>24)).String()
			}
			found[net.JoinHostPort(host, fmt.Sprint(port))] = true
		}
	}
	return found
}

// steal starts to read the row without the credential, as another user of the machine
// (if this test may change users), at every address that began to listen since
// before. Call end when the engine has ended: it returns where the row was read.
func steal(t *testing.T, before map[string]bool, e *engine.Engine) (end func() []string) {
	t.Helper()
	now, door := listening(t), ""
	if at, err := url.Parse(e.URL); err == nil {
		door = at.Host
	}
	if !now[door] {
		t.Fatalf("the test does not see the door %s in %v", door, now)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Dir, cmd.Stderr = "/", os.Stderr
	for at := range now {
		if !before[at] {
			cmd.Args = append(cmd.Args, at)
		}
	}
	cmd.Env = append(os.Environ(), "ENGINE_TEST_THIEF=1")
	nobody, probe := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}, exec.Command("true")
	if probe.SysProcAttr = nobody; probe.Run() == nil {
		cmd.SysProcAttr = nobody
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	if !lines.Scan() || lines.Text() != "sent" {
		t.Fatalf("the thief: %q, %v", lines.Text(), lines.Err())
	}
	return func() (stolen []string) {
		for lines.Scan() {
			stolen = append(stolen, lines.Text())
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the thief: %v", err)
		}
		return stolen
	}
}

// thief asks each address for the row, says when it has asked, and reads until the
// connections end. It prints the addresses that gave the row.
func thief(addresses []string) {
	var asked, read sync.WaitGroup
	var stolen sync.Map
	for _, at := range addresses {
		for _, path := range []string{"/", "/" + strings.Repeat("A", 26) + "/", "//", "/%2e/"} {
			for _, key := range []string{"local", "AKIAIOSFODNN7EXAMPLE"} {
				asked.Add(1)
				read.Go(func() {
					conn, err := net.Dial("tcp", at)
					if err != nil {
						asked.Done()
						return
					}
					defer conn.Close()
					req, err := request(context.Background(), "http://"+at+path, "GetItem", readThing, key, "us-east-1")
					if err == nil {
						req.Close = true
						_ = req.Write(conn)
					}
					asked.Done()
					text, _ := io.ReadAll(conn) // a connection that was never accepted ends with a fault
					if strings.Contains(string(text), "a row of ours") {
						stolen.Store(at+path, true)
					}
				})
			}
		}
	}
	asked.Wait()
	fmt.Println("sent")
	read.Wait()
	stolen.Range(func(at, _ any) bool {
		fmt.Println(at)
		return true
	})
}

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

// TestOneDoor: no other user reads a row without the credential in the engine's URL,
// also where the system gives no network namespace, and no command line shows the
// way. The data is there after a restart.
func TestOneDoor(t *testing.T) {
	for name, exposed := range map[string]bool{"": false, "without namespaces": true} {
		t.Run(name, func(t *testing.T) {
			o := engine.Options{Dir: t.TempDir()}
			if exposed {
				o.Expose()
			}
			for run := range 2 {
				before := listening(t)
				e := start(t, o)
				if run == 0 {
					call(t, e.URL, "CreateTable", createThings)
					if code, body := call(t, e.URL, "PutItem", putThing); code != http.StatusOK {
						t.Fatalf("PutItem: %d %s", code, body)
					}
				}
				end := steal(t, before, e)
				for range 50 { // time enough for an engine that would answer the thief
					if _, body := call(t, e.URL, "GetItem", readThing); !strings.Contains(body, "a row of ours") {
						t.Fatalf("start %d: %s", run+1, body)
					}
				}
				unseen(t, o.Dir, e)
				e.Stop()
				if stolen := end(); len(stolen) > 0 || e.Exposed {
					t.Errorf("start %d: exposed %v, read without the credential at %v", run+1, e.Exposed, stolen)
				}
			}
		})
	}
}

// unseen fails if ps shows the URL's port or credential, or the key of the folder.
func unseen(t *testing.T, dir string, e *engine.Engine) {
	t.Helper()
	at, err := url.Parse(e.URL)
	if err != nil {
		t.Fatal(err)
	}
	secret, key := strings.Trim(at.Path, "/"), "none"
	if text, err := os.ReadFile(filepath.Join(dir, "engine-key")); err == nil {
		key = strings.TrimSpace(string(text))
	}
	port := regexp.MustCompile(`\b` + at.Port() + `\b`)
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
		if strings.Contains(string(text), e.Kind) && port.Match(text) {
			t.Errorf("%s shows the door's port: %q", file, text)
		}
	}
	for _, name := range []string{"engine-key", "dynoxide.db", "dynamodb-local/" + key + "_*.db"} {
		files, _ := filepath.Glob(filepath.Join(dir, name))
		for _, file := range files {
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", file, info.Mode(), err)
			}
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
