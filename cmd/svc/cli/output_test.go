package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// hostile is a name that would move a terminal's cursor, or turn text around.
const hostile = "Eve\x1b[2J\u009b31m\u0085\u202eteP\u200b\u2066\ufeff\u2028!"

// Stored text cannot control the terminal of a reader, in tables, sentences
// and errors. JSON keeps it, escaped.
func TestOutputIsPlainText(t *testing.T) {
	var out, errs bytes.Buffer
	c := New("", &out, &errs)
	table := Table{Head: "NAME"}
	table.Add(hostile)
	if err := errors.Join(c.Show(nil, table), c.Done(nil, "Added %s.", hostile)); err != nil {
		t.Fatal(err)
	}
	failing := c.Root()
	failing.AddCommand(&cobra.Command{Use: "fail", RunE: func(*cobra.Command,
		[]string) error {
		return errors.New(hostile)
	}})
	if code := c.Execute(t.Context(), failing, []string{"fail"}); code == 0 {
		t.Error("the command did not fail")
	}
	for name, text := range map[string]string{"out": out.String(), "err": errs.String()} {
		if !strings.Contains(text, "Eve") || !strings.Contains(text, "teP!") {
			t.Errorf("%s lost the plain text: %q", name, text)
		}
		if strings.ContainsAny(text, "\x1b\u009b\u0085\u202e\u200b\u2066\ufeff\u2028") {
			t.Errorf("%s has characters that command: %q", name, text)
		}
	}
	out.Reset()
	c.JSON = true
	if err := c.Show([]string{hostile}, table); err != nil {
		t.Fatal(err)
	}
	var back []string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back[0] != hostile {
		t.Errorf("JSON: %q, %v", out.String(), err)
	}
	if strings.ContainsAny(out.String(), "\x1b\u009b\u0085\u202e\u200b\u2066\ufeff\u2028") {
		t.Errorf("JSON has characters that command: %q", out.String())
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{24 * time.Hour: "24 hours", time.Minute: "1 minute",
		89*time.Second + 400*time.Millisecond: "89 seconds", time.Second: "1 second"} {
		if got := Span(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
