package replay

import (
	"context"
	"encoding/json"
	"syscall"
	"time"
)

// First is Invoke for the first event. First also returns the time from the
// start of the process to the response.
func (p *Process) First(ctx context.Context, event json.RawMessage) (json.RawMessage, time.Duration, error) {
	answer, err := p.Invoke(ctx, event)
	return answer, time.Since(p.began), err
}

// Hold sends the process SIGUSR2. A function with the probe then reports its live
// heap and goroutines.
func (p *Process) Hold() error { return p.cmd.Process.Signal(syscall.SIGUSR2) }
