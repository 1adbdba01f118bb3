package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"syscall"
	"time"
)

// First is Invoke for the first event. First also returns the time from the
// start of the process to the response.
func (p *Process) First(ctx context.Context, event json.RawMessage) (json.RawMessage, time.Duration, error) {
	answer, err := p.Invoke(ctx, event)
	return answer, time.Since(p.began), err
}

// FirstHead is First for a function that streams: it returns the time until the head of
// the response.
func (p *Process) FirstHead(ctx context.Context, event json.RawMessage) (time.Duration, error) {
	s, err := p.Stream(ctx, event, time.Minute)
	if err != nil {
		return 0, err
	}
	defer s.close()
	if took := time.Since(p.began); s.StatusCode == http.StatusOK {
		return took, nil
	}
	return 0, fmt.Errorf("status %d", s.StatusCode)
}

// Hold sends the process SIGUSR2. A function with the probe then reports its live
// heap and goroutines.
func (p *Process) Hold() error { return p.cmd.Process.Signal(syscall.SIGUSR2) }
