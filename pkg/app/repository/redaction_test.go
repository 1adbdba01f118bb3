package repository_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/app"
)

// TestOperationsCovered: in the end-to-end suite every operation succeeds at
// least once. So its findings about policies and logs apply to all operations.
func TestOperationsCovered(t *testing.T) {
	r := recorded(t)
	for _, row := range app.Rows(nil) {
		if !r.operations[row.ID] {
			t.Errorf("the end-to-end suite never has %s succeed", row.ID)
		}
	}
}

// personal matches personal data and secrets: the demo's addresses, phones,
// names, streets and password, and anything with the form of a token, a mail
// address or an argon2id hash. The prefix eyJ of a token is case-sensitive,
// because one identifier in a few thousand contains it in capitals.
var personal = regexp.MustCompile(`(?i)(?-i:eyJ)[\w-]{8,}|\S@\S|\+\d[\d ]{7,}|argon2|demo-password|not-the-password|trial street|thompson|bennett|okafor|ring twice|metro\.example|harbor\.example|bearer \S`)

// TestLogsAreRedacted: no token, code, password, cookie, mail address, phone,
// name or street is ever logged or measured.
func TestLogsAreRedacted(t *testing.T) {
	r := recorded(t)
	lines := 0
	for s := bufio.NewScanner(bytes.NewReader(r.logs.Bytes())); s.Scan(); lines++ {
		line := s.Text()
		if found := personal.FindString(line); found != "" {
			t.Errorf("%q is logged: %s", found, line)
		}
		for secret, what := range r.secrets {
			if strings.Contains(line, secret) {
				t.Errorf("a %s is logged: %s", what, line)
			}
		}
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
	if lines < 100 || len(r.secrets) < 20 {
		t.Errorf("%d lines and %d secrets are too few to judge by", lines, len(r.secrets))
	}
}

// TestPanicsAreCaughtInOnePlace: only base/panics recovers, because the value of a panic
// may quote a request. The exceptions log its type alone, or nothing.
func TestPanicsAreCaughtInOnePlace(t *testing.T) {
	except := []string{"../../base/panics/panics.go", "../../data/stream/stream.go", "../../edge/gateway/handler.go",
		"../../edge/gateway/stream.go", "../../edge/gateway/emulator/gateway.go"}
	for _, root := range []string{"../..", "../../../cmd", "../../../functions"} {
		testkit.Must(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			if strings.Contains(string(source), "recover()") && !slices.Contains(except, path) {
				t.Errorf("%s recovers: use panics.Catch or panics.Try", path)
			}
			return err
		}))
	}
}
