package repository_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc/internal/test/testkit"
)

// tool stands in for aws, sam, go and sleep. It writes each call to $CALLS. The
// table is restored after forty of them; before that, the CLI's own wait ends
// with its error for a wait of ten minutes.
const tool = `#!/usr/bin/env bash
echo "$(basename "$0") $*" >>"$CALLS"
restored() { [ "$(wc -l <"$CALLS")" -gt 40 ]; }
case "$(basename "$0") $1 $2" in
  "aws dynamodb wait") restored || exit 255 ;;
  "aws dynamodb describe-table") restored && echo ACTIVE || echo CREATING ;;
  "aws cloudformation describe-stacks") echo output ;;
  "go run "*) echo '{}' ;;
  "go build -o") cp "$0" "$3" ;;
esac
`

// TestRestoreWaits: ops/restore waits for a large table, whose restore takes
// longer than the CLI waits. It deploys the new stack with the parameters that
// it was given, and then runs all of its steps.
func TestRestoreWaits(t *testing.T) {
	testkit.Long(t)
	bin := t.TempDir()
	for _, name := range []string{"aws", "sam", "go", "sleep"} {
		testkit.Must(t, os.WriteFile(filepath.Join(bin, name), []byte(tool), 0o700))
	}
	calls := filepath.Join(bin, "calls")
	cmd := exec.CommandContext(t.Context(), "../../../ops/restore", "svc-old", "svc-new", "2026-05-04T03:00:00Z")
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "CALLS="+calls,
		"PARAMETERS=Environment=prod BaseUrl=https://api.example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(calls)
	testkit.Must(t, err)
	rest := string(text)
	for _, call := range []string{"aws dynamodb restore-table-to-point-in-time", "aws dynamodb update-table",
		"--change-set-type IMPORT", "--parameter-overrides Environment=prod BaseUrl=https://api.example.com",
		"svc restore finish --yes", "svc rebuild --yes", "svc verify"} {
		_, after, found := strings.Cut(rest, call)
		if !found {
			t.Fatalf("%s does not follow in\n%s", call, text)
		}
		rest = after
	}
}
