package poller_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/local/poller"
)

// The lag of a function that keeps up stays small while the table is written
// without pause, so that no read of the stream comes back empty.
func TestLagUnderSteadyWrites(t *testing.T) {
	testkit.LongHere(t)
	p := newFixture(t)
	var written atomic.Int64
	write := func() { p.put("trip", fmt.Sprintf("n%09d", written.Add(1))) }
	ended, delivered := make(chan struct{}), make(chan struct{}, 1)
	running := p.poll(poller.Consumer{Name: "F", BatchSize: 10,
		Invoke: func(context.Context, json.RawMessage) (json.RawMessage, error) {
			select {
			case <-ended:
			default:
				write() // what the next read finds
			}
			select {
			case delivered <- struct{}{}:
			default:
			}
			return nil, nil
		}})
	began := time.Now()
	write()
	defer func() { close(ended); running.Stop() }()
	// The engines date records in whole seconds.
	for running.Lag()["F"] > time.Since(began)-2*time.Second {
		<-delivered
		if time.Since(began) > 5*time.Minute {
			t.Fatalf("after %s and %d writes the lag is %s", time.Since(began), written.Load(), running.Lag()["F"])
		}
	}
}
