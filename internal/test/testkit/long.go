package testkit

import (
	"os"
	"regexp"
	"testing"
)

// Long skips a slow test if `go test` has the flag -short, unless the regular expression
// in SVC_LONG matches its name. `make test` sets the flag. `make test-all` and CI run every
// test.
func Long(t testing.TB) {
	t.Helper()
	if named := os.Getenv("SVC_LONG"); named != "" && regexp.MustCompile(named).MatchString(t.Name()) {
		return
	}
	if testing.Short() {
		t.Skip("left out by -short; make test-all runs it")
	}
}

// LongHere is Long for a test whose result can depend on the engine: on DynamoDB
// Local it also runs under -short (`make short-dynamodb-local`).
func LongHere(t testing.TB) {
	t.Helper()
	if testing.Short() && !OnDynamoDBLocal() {
		t.Skip("left out by -short on this engine; make test-all runs it")
	}
}
