package testkit_test

import (
	"sync"
	"testing"
	"time"

	"svc/pkg/local/testkit"
	"svc/pkg/table"
)

// Requests that wait for nothing overlap on a slow wire, also where a busy
// machine comes to one of them late.
func TestDelayWaitsForWhatRunsBeside(t *testing.T) {
	wire := &testkit.Wire{}
	tn := testkit.TableOnWire(t, wire).Tenant("ten_1")
	wire.Delay(time.Millisecond)
	ctx, meter := table.Metered(t.Context())
	var both sync.WaitGroup
	for _, late := range []time.Duration{0, 300 * time.Millisecond} {
		both.Go(func() {
			for begin := time.Now(); time.Since(begin) < late; { // at work before its request
			}
			if _, err := tn.Get(ctx, tn.Key("A", "A")); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if u := meter.Usage(); u.Requests != 2 || u.Sequential != 1 {
		t.Errorf("%d requests, %d in sequence", u.Requests, u.Sequential)
	}
}
