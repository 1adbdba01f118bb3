package testkit

import "testing"

// Long skips a slow test under `go test -short`, which `make quick` runs.
// `make test` and CI run every test.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out by -short; make test runs it")
	}
}
