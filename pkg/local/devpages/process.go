package devpages

import (
	"encoding/json"
	"net/http"
	"runtime"
	"runtime/metrics"
)

// Held is the number of goroutines and the live memory of the process. The page
// /dev/process serves it as JSON.
type Held struct {
	Goroutines uint64 `json:"goroutines"`
	Heap       uint64 `json:"heap"` // bytes that were live at the last garbage collection
}

// process serves Held. It collects garbage first, so that Heap does not include
// the memory of finished password hashes.
func process(w http.ResponseWriter, _ *http.Request) {
	runtime.GC()
	read := []metrics.Sample{{Name: "/sched/goroutines:goroutines"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(read)
	w.Header().Set("Content-Type", "application/json")
	// An error means that the caller disconnected.
	_ = json.NewEncoder(w).Encode(Held{read[0].Value.Uint64(), read[1].Value.Uint64()})
}
