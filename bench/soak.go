package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"svc/pkg/local/devpages"
)

// soaked is a process of svc dev, with its data folder on disk.
type soaked struct {
	cmd     *exec.Cmd
	program string // path of svc
	dir     string // folder that contains the data folder and the output of svc dev
	data    string
	base    string        // URL of the service
	ended   chan struct{} // closed when the process has ended
}

// startSoaked starts svc dev with the program at the path, and waits until the demo data
// is loaded.
func startSoaked(ctx context.Context, program string) (*soaked, error) {
	dir, err := os.MkdirTemp("", "svc-soak-")
	if err != nil {
		return nil, err
	}
	s := &soaked{program: program, dir: dir, data: filepath.Join(dir, "data"), ended: make(chan struct{})}
	s.cmd = exec.Command(program, "dev", "--data", s.data, "--port", "0", "--quiet") //nolint:gosec // our own program
	s.cmd.Env = append(os.Environ(), "TABLE_NAME=", "AWS_ENDPOINT_URL_DYNAMODB=")
	output, err := os.Create(filepath.Join(dir, "output")) //nolint:gosec // a file made here
	s.cmd.Stdout, s.cmd.Stderr = output, output
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w (make build)", err), os.RemoveAll(dir))
	}
	go func() {
		_ = s.cmd.Wait() // stop reads the exit code
		close(s.ended)
	}()
	err = s.await(ctx, "the start", func() (bool, error) {
		text := s.printed()
		_, rest, _ := strings.Cut(text, "svc runs at ")
		s.base, _, _ = strings.Cut(rest, "\n")
		return strings.Contains(text, "Reference: "), nil
	})
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// printed returns what svc dev printed last, at most 64 KB.
func (s *soaked) printed() string {
	text, _ := os.ReadFile(filepath.Join(s.dir, "output"))
	return string(text[max(0, len(text)-1<<16):])
}

// await waits until done returns true or an error, svc dev ends, or ten minutes have
// passed. what is the name of the wait in errors.
func (s *soaked) await(ctx context.Context, what string, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-s.ended:
			return fmt.Errorf("svc dev ended during %s: %s %s", what, s.cmd.ProcessState, s.printed())
		case <-ctx.Done():
			return fmt.Errorf("%s takes too long: %w", what, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// stop ends svc dev and removes its data. After ten minutes it kills the process.
// If the exit code is not 0, stop returns an error.
func (s *soaked) stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	defer os.RemoveAll(s.dir)
	select {
	case <-s.ended:
	case <-time.After(10 * time.Minute):
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
	if !s.cmd.ProcessState.Success() {
		return fmt.Errorf("svc dev: %s %s", s.cmd.ProcessState, s.printed())
	}
	return nil
}

// page reads a JSON page that only svc dev serves (package devpages), and decodes it into
// out.
func (s *soaked) page(ctx context.Context, path string, out any) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path, nil)
	if err != nil {
		return err
	}
	status, text, err := exchange(http.DefaultClient, r)
	if err != nil || status != http.StatusOK {
		return errors.Join(err, fmt.Errorf("%s: status %d", path, status))
	}
	return json.Unmarshal(text, out)
}

// exchange sends the request and reads the response.
func exchange(client *http.Client, r *http.Request) (status int, text []byte, err error) {
	res, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	text, err = io.ReadAll(res.Body)
	return res.StatusCode, text, err
}

// lag returns how far the slowest stream function is behind.
func (s *soaked) lag(ctx context.Context) (longest time.Duration, err error) {
	var all map[string]time.Duration
	if err := s.page(ctx, devpages.Streams, &all); err != nil {
		return 0, err
	}
	for _, one := range all {
		longest = max(longest, one)
	}
	return longest, nil
}

// settle waits until the stream functions have processed all records. Then it runs svc
// verify, and returns the output of svc verify.
func (s *soaked) settle(ctx context.Context) (compared string, err error) {
	ended := time.Now()
	err = s.await(ctx, "the rest of the stream", func() (bool, error) {
		lag, err := s.lag(ctx)
		return lag < time.Since(ended)-2*time.Second, err // every record from before ended was processed
	})
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, s.program, "verify", "--data", s.data) //nolint:gosec // our own program
	cmd.Env = append(os.Environ(), "TABLE_NAME=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("svc verify: %w\n%s", err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// runSoak drives mixed load against svc dev for o.minutes. It fails if a
// response is wrong, if the resources of the processes keep growing, or if a
// sum is not exact.
func runSoak(ctx context.Context, o options) (err error) {
	fmt.Println(described())
	s, err := startSoaked(ctx, filepath.Join("bin", "svc"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	load, err := newTraffic(ctx, s.base)
	if err != nil {
		return err
	}
	length := time.Duration(o.minutes * float64(time.Minute))
	timed, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	watched := make(chan error, 1)
	w := &watch{soaked: s, load: load, every: max(length/120, 500*time.Millisecond)}
	go func() { watched <- w.run(timed) }()
	failed := load.run(timed)
	cancel()
	if err := errors.Join(failed, <-watched); err != nil {
		return fmt.Errorf("%w\n%s", err, s.printed())
	}
	compared, err := s.settle(ctx)
	if err != nil {
		return err
	}
	if err := load.sums(ctx); err != nil {
		return err
	}
	if len(w.all) == 0 {
		return errors.New("no sample was taken")
	}
	fmt.Printf("On %s: %d rides, exact in the reports; %d requests sent again to a busy machine; svc verify: %s\n",
		w.engine, w.all[len(w.all)-1].rides, load.again, compared[strings.LastIndex(compared, "\n")+1:])
	return w.judge()
}
