package engine

import (
	"io"
	"os"
	"strings"
	"testing"
)

// A door that ends without a report has not started an engine.
func TestDoorEndsWithoutReport(t *testing.T) {
	for name, output := range map[string]string{"nothing": "", "half a report": `{"Pid":1`} {
		input, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		e := &Engine{Kind: Dynoxide, input: input}
		if pid, err := e.begin(t.Context(), order{}, io.NopCloser(strings.NewReader(output))); err == nil {
			t.Errorf("%s: the engine %d started", name, pid)
		}
		_ = input.Close()
	}
}
