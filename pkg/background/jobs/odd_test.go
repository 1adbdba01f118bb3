package jobs_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/export"
	"svc/pkg/domain/imports"
)

// oddTexts are texts of kinds that programs stumble over, each alone and beside a
// name.
func oddTexts() (out []string) {
	kinds := []string{"null", "NULL", "undefined", "NaN", "Infinity", "-1", "0x1f",
		"1e309", "1_000", "007", "true", "[]", "{}",
		`{"a":1}`, "<b>x</b>", "<script>1</script>", "&amp;", "&#0;", "%00", "%s%n%x",
		"${1+1}", "{{7*7}}", "#{7}", "`id`", "$(id)",
		"; ls", "| cat",
		"../../etc/x", `C:\x`, `\\host\x`, "' OR '1'='1", `"; DROP TABLE x; --`, "a'b", `a"b`, `""`, `\`, `\n`,
		"a,b", "a;b", "a\tb", "a|b", "a\nb", "a\r\nb", "a#b", "T#x#TENANT", "#LOGIN#",
		"CON", "a@b", "=1+1", "+1", "-1+1", "@SUM(A1)",
		"'=1+1", "\ufeffx", "\u00a0", "\u2003x", "\u3000", "\u200b", "x\u200dy",
		"\u202eabc", "\u2066x\u2069", "\u00adx", "\ufffd",
		"\ufffe", "\U0010ffff", "\ue000", "é", "e\u0301", "İ", "ı", "ß", "ẞ", "ǅ", "ﬁ", "Å",
		"ℌ", "Ａｎｎａ", "аnna", "日本語", "한국어",
		"العربية", "עברית", "ไทย", "हिन्दी", "ᚠᛇᚻ", "👩‍👩‍👧", "🏳️‍🌈", "🇩🇪", "1️⃣", "👍🏿", "𝕬",
		"𐍈", "x" + strings.Repeat("\u0301", 40),
		strings.Repeat("x", 100), strings.Repeat("x", 101), strings.Repeat("é", 100), strings.Repeat("👍", 100),
		strings.Repeat("x", 5000),
		".", "..", "-", "_", "*", "?", "!", "~", "^", "(", ")", "[", "]", "<", ">", "/",
		":", "§", "€", "¥", "…", "—", "´", "“x”", "‘x’", "«x»"}
	for c := rune(1); c < 0xa0; c++ { // control characters of both sets
		if c < ' ' || c >= 0x7f {
			kinds = append(kinds, "x"+string(c)+"y")
		}
	}
	for _, kind := range kinds {
		out = append(out, kind, "Anna "+kind, kind+" Anna")
	}
	return out
}

// TestImportOfOddTexts: each text is stored exactly as it was written, or its row is
// a fault that names the column, or the whole name. The same file again changes nothing, and an export
// has the same texts.
func TestImportOfOddTexts(t *testing.T) {
	testkit.LongHere(t)
	t.Parallel()
	s := apptest.New(t)
	boss := s.Token(t, s.Operator(t, "metro", "boss"))
	texts := oddTexts()
	if len(texts) < 515 {
		t.Fatalf("only %d texts", len(texts))
	}
	var file bytes.Buffer
	w := csv.NewWriter(&file)
	testkit.Must(t, w.Write([]string{"email", "firstName", "lastName"}))
	for n, text := range texts {
		testkit.Must(t, w.Write([]string{fmt.Sprintf("p%d@metro.example", n), "Anna", text}))
	}
	w.Flush()
	job := imported(t, s, boss, `{"kind": "customers"}`, file.Bytes())
	if job.Status != imports.Done || job.Created+job.Failed != len(texts) || job.Created < len(texts)/2 {
		t.Fatalf("the import: %s %v", counts(job), job.Error)
	}
	failed := map[int]imports.Fault{}
	for cursor := ""; ; {
		page := apptest.JSON[struct {
			Items  []imports.Fault
			Cursor *string `json:"next_cursor"`
		}](t, s.Get(t, boss, "/api/v1/imports/"+job.ID+"/errors?limit=50"+cursor).Must(t, 200))
		for _, f := range page.Items {
			failed[f.Row] = f
		}
		if page.Cursor == nil {
			break
		}
		cursor = "&cursor=" + *page.Cursor
	}
	if len(failed) != job.Failed {
		t.Errorf("%d faults are listed, want %d", len(failed), job.Failed)
	}
	s.Drain(t)
	stored := map[string]string{}
	for line := range strings.Lines(made(t, s, boss, `{"kind": "customers", "format": "ndjson"}`)) {
		var c customer.Customer
		testkit.Must(t, json.Unmarshal([]byte(line), &c))
		stored[c.Email] = c.LastName
	}
	for n, text := range texts {
		have, ok := stored[fmt.Sprintf("p%d@metro.example", n)]
		f, bad := failed[n+1]
		want := strings.ReplaceAll(strings.TrimSpace(text), "\r\n", "\n") // as CSV readers do
		if rest, is := strings.CutPrefix(want, "'="); is {
			want = "=" + rest
		}
		named := f.Message != "" && strings.HasSuffix(strings.ToLower(f.Column), "name")
		if ok == bad || ok && have != want || bad && !named {
			t.Errorf("%q: stored %t as %q, fault %+v", text, ok, have, f)
		}
	}
	if again := imported(t, s, boss, `{"kind": "customers"}`, file.Bytes()); again.Created+again.Updated != 0 ||
		again.Failed != job.Failed {
		t.Errorf("the same file again: %s", counts(again))
	}
}

// TestConflictsCostNoLease: a runner that meets several conflicts in a row goes on.
// It does not leave the job to the next runner, which waits for the lease to end.
func TestConflictsCostNoLease(t *testing.T) {
	s := apptest.New(t)
	rider, token := s.Rider(t, "metro", "anna"), s.Token(t, s.Operator(t, "metro", "boss"))
	ride(t, s, rider, "a note")
	id := quiet(t, s, token, `{"kind": "trips", "columns": ["id"]}`)
	s.Still(t)
	runner, _ := asleep(s, s.Runtime.Files)
	s.Wire.Conflicts(3)
	err := runner.Run(t.Context())
	s.Wire.Restore()
	testkit.Must(t, err)
	job := apptest.JSON[export.Job](t, s.Get(t, token, "/api/v1/exports/"+id).Must(t, 200))
	if job.Status != export.Ready || job.Rows != 1 {
		t.Errorf("after one run: %+v", job)
	}
}
