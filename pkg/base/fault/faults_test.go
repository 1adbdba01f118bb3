package fault_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"svc/pkg/base/fault"
)

func TestFaults(t *testing.T) {
	var wrong fault.Faults
	wrong.Unless(true, "a", "never")
	if err := wrong.Err(); err != nil {
		t.Errorf("without a fault: %v", err)
	}
	wrong.Unless(false, "b", "expected %d", 1)
	if got := fault.Of(wrong.Err()).Message; got != "b: expected 1" {
		t.Errorf("one fault: %q", got)
	}
	wrong.Unless(false, "c", "expected 2")
	want := []fault.Detail{{Field: "b", Message: "expected 1"}, {Field: "c", Message: "expected 2"}}
	if diff := cmp.Diff(want, fault.Of(wrong.Err()).Details); diff != "" {
		t.Error(diff)
	}
}
