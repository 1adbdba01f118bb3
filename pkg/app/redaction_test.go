package app_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"svc/pkg/app"
)

// TestOperationsCovered: the end-to-end suite has a success of every operation,
// so that what it shows of policies and logs holds for all of them.
func TestOperationsCovered(t *testing.T) {
	r := recorded(t)
	for _, row := range app.Rows(nil) {
		if !r.operations[row.ID] {
			t.Errorf("the end-to-end suite never has %s succeed", row.ID)
		}
	}
}

// personal are texts that only people have: the demo's addresses, phones,
// names, streets and its password, and anything with the form of a token, a
// mail address or an argon2id hash. A token begins in these letters and no
// others: in capitals they stand in one identifier of some thousand.
var personal = regexp.MustCompile(`(?i)(?-i:eyJ)[\w-]{8,}|\S@\S|\+\d[\d ]{7,}|argon2|demo-password|not-the-password|trial street|thompson|bennett|okafor|ring twice|metro\.example|harbor\.example|bearer \S`)

// TestLogsAreRedacted: no token, code, password, cookie, mail address, phone,
// name or street is ever logged or measured, whatever went over the wire.
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
