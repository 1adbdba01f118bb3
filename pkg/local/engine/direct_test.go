package engine_test

import (
	"strings"
	"testing"

	"svc/pkg/local/engine"
)

// TestDirect: an engine without its door responds at its own port, and ends by Stop
// and by Kill.
func TestDirect(t *testing.T) {
	if kind() != engine.Dynoxide {
		return // DynamoDB Local keeps its door
	}
	for name, end := range map[string]func(*engine.Engine){"Stop": (*engine.Engine).Stop, "Kill": (*engine.Engine).Kill} {
		t.Run(name, func(t *testing.T) {
			e := start(t, engine.Options{Memory: true, Direct: true})
			if strings.Count(e.URL, "/") != 2 || e.URL != e.Own() || e.Pid() == 0 {
				t.Errorf("%s, process %d", e.URL, e.Pid())
			}
			if status, body := call(t, e.URL, "ListTables", "{}"); status != 200 {
				t.Errorf("%d %s", status, body)
			}
			end(e)
			select {
			case <-e.Exited():
			default:
				t.Error("the engine runs on")
			}
		})
	}
}
