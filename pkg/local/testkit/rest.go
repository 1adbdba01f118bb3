package testkit

import (
	"runtime/metrics"
	"sync"
	"time"
)

// resting lets one request at a time look whether the process is at rest.
var resting sync.Mutex

// rest waits until nothing else in this process runs or is about to: what is
// going to be sent beside a waiting request has been sent by then, however long
// the machine took to come to it. Ten seconds are the most.
func rest() {
	resting.Lock()
	defer resting.Unlock()
	states := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}, {Name: "/sched/goroutines/running:goroutines"}}
	calm := 0
	for deadline := time.Now().Add(10 * time.Second); calm < 3 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
		metrics.Read(states)
		if states[0].Value.Uint64() == 0 && states[1].Value.Uint64() <= 1 { // this one
			calm++
		} else {
			calm = 0
		}
	}
}
