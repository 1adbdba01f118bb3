package engine

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// doorName is the first argument of the process that stands before an engine. It
// is this program again, so that each program and test that starts an engine has it.
const doorName = "svc-engine-door"

// order is what the door's process reads from its standard input. No command line
// and no environment shows it. The end of the input means: kill the engine.
type order struct {
	Program program
	Data    string // file or folder, "" for memory
	// Secret is the first part of every path that the door serves.
	Secret string
	// Key is the access key id that names the database of DynamoDB Local.
	Key string
	// Private means that the process is in a network namespace of its own.
	Private bool
}

// report is the door's answer when the engine responds, or does not start.
type report struct {
	Pid       int
	Error     string
	Exposed   bool // the namespace has no loopback device
	Open      bool // the engine accepts connections of other users
	PortTaken bool
}

func init() { //nolint:gochecknoinits // another main function would be another program to install
	if len(os.Args) == 1 && os.Args[0] == doorName {
		os.Exit(serveDoor())
	}
}

// serveDoor runs the engine, and forwards what comes with the secret from the
// inherited listener to it, until either ends.
func serveDoor() (code int) {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	orders := json.NewDecoder(os.Stdin)
	var o order
	if err := orders.Decode(&o); err != nil {
		return 2
	}
	listener, err := net.FileListener(os.NewFile(3, "door"))
	if err != nil {
		return 2
	}
	if o.Private {
		if err := raiseLoopback(); err != nil {
			return tell(report{Exposed: true, Error: err.Error()})
		}
	}
	b, err := o.start(os.Stderr)
	if err != nil {
		return tell(report{Error: err.Error(), PortTaken: errors.Is(err, errPort)})
	}
	front := &http.Server{ //nolint:gosec // only programs of this machine reach the listener
		Handler: door(b.url, b.transport, o.Secret, o.Key), ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = front.Serve(listener) }()
	tell(report{Pid: b.child.cmd.Process.Pid, Open: b.open})
	gone := make(chan struct{})
	go func() {
		_ = orders.Decode(&o) // the end of the input, like every fault of it, ends the engine
		close(gone)
	}()
	select {
	case <-b.child.done:
	case <-stop:
		b.child.end(syscall.SIGTERM)
	case <-gone:
		b.child.end(syscall.SIGKILL)
	}
	return 0
}

// tell writes the report for the process that started this one.
func tell(r report) (code int) {
	_ = json.NewEncoder(os.Stdout).Encode(r) // who does not read it has ended
	return 1
}

// door returns a handler that forwards requests to the engine at the URL if their
// path begins with the secret, and rejects all others and those of web pages. An
// engine checks no credentials, and lets every origin read its responses. If key is not "", the
// engine sees it as the access key id, whatever the client has sent.
func door(engine *url.URL, transport http.RoundTripper, secret, key string) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(engine)
			r.Out.URL.Path, r.Out.URL.RawPath = "/", ""
			if key != "" && r.Out.Header.Get("Authorization") != "" {
				r.Out.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+key+"/20260101/"+keyRegion+
					"/dynamodb/aws4_request, SignedHeaders=host, Signature=00")
			}
		},
		ModifyResponse: func(res *http.Response) error {
			for name := range res.Header {
				if strings.HasPrefix(name, "Access-Control-") {
					res.Header.Del(name)
				}
			}
			return nil
		},
		// The client sees the end of the connection, as it does without the door.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		Transport:    transport,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		page := r.Header["Origin"] != nil || r.Header["Sec-Fetch-Site"] != nil
		if subtle.ConstantTimeCompare([]byte(first), []byte(secret)) != 1 || page {
			http.Error(w, "The database of svc dev answers only at the address in dev.json, and no web page.",
				http.StatusForbidden)
			return
		}
		proxy.ServeHTTP(w, r)
	})
}

// backend is a running engine and its own address.
type backend struct {
	child     *child
	url       *url.URL
	transport http.RoundTripper
	open      bool // it accepts connections of other users
}

// start starts the engine and returns when it responds.
func (o order) start(stderr io.Writer) (*backend, error) {
	if o.Private || o.Key != "" {
		return o.run(stderr, 0)
	}
	b, err := o.startSealed(stderr)
	if !errors.Is(err, errOpen) {
		return b, err
	}
	if b, err = o.run(stderr, 0); err == nil {
		b.open = true
	}
	return b, err
}

// run starts the engine's program. If files is not 0, it may open so many files, and
// no connection but the door's.
func (o order) run(stderr io.Writer, files int) (*backend, error) {
	host, port := "127.0.0.1", 8000
	if !o.Private {
		var release func()
		var err error
		host = loopback(o.Program.Kind)
		if port, release, err = reservePort(host); err != nil {
			return nil, err
		}
		defer release()
	}
	cmd, remove, err := o.Program.command(host, port, o.Data)
	if err != nil {
		return nil, err
	}
	defer remove()
	said := &tail{to: stderr}
	cmd.Stdout, cmd.Stderr = said, said
	if o.Program.Image != "" {
		if _, err := cmd.StdinPipe(); err != nil { // it ends with this process, and the container with it
			return nil, fmt.Errorf("engine: %w", err)
		}
	}
	if files > 0 {
		said.to = nil // it fails until it may open enough files
		cmd.Args = append([]string{"sh", "-c", `ulimit -Sn $0; exec "$@"`, strconv.Itoa(files), cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
	}
	c, err := startChild(cmd, own)
	if err != nil {
		return nil, fmt.Errorf("engine: %s: %w", o.Program.Kind, err)
	}
	b := &backend{child: c, url: &url.URL{Scheme: "http", Host: net.JoinHostPort(host, strconv.Itoa(port))},
		transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}}
	ctx, cancel := context.WithTimeout(context.Background(), readyIn)
	defer cancel()
	if files > 0 {
		if b.transport, err = seal(ctx, c, b.url, files); err != nil {
			b.child.end(syscall.SIGKILL)
			return nil, err
		}
	}
	if err := b.awaitReady(ctx); err != nil {
		b.child.end(syscall.SIGTERM)
		return nil, explain(o.Program.Kind, o.Data, said.last(), err)
	}
	return b, nil
}
