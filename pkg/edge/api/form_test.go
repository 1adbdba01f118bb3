package api

import "testing"

// A form is sent only to a caller who names it, and who does not prefer JSON.
func TestChooseForm(t *testing.T) {
	forms := []Form{{MediaType: "text/html"}, {MediaType: "text/csv"}}
	for accept, want := range map[string]string{
		"": "", "*/*": "", "application/json": "", "text/*": "", "application/*, text/html;q=0.9": "",
		"text/html": "text/html", "TEXT/HTML;level=1": "text/html", "text/csv, text/html": "text/html",
		"text/csv, text/html;q=0.9": "text/csv", "text/csv, */*;q=0.1": "text/csv", "text/html, */*": "text/html",
		"application/json, text/csv": "", "application/json;q=0.9, text/csv": "text/csv", "text/html;q=0": "",
		"text/html;q=NaN": "", "text/html;q=2": "", ",;q=1": "", "text/html;Q=0.1": "text/html",
		"application/xml": "", "application/json;q=0": "",
	} {
		got := ""
		if form := chooseForm(forms, accept); form != nil {
			got = form.MediaType
		}
		if got != want {
			t.Errorf("%q: %q, want %q", accept, got, want)
		}
	}
}
