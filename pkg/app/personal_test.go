package app_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"svc/pkg/local/testkit"
)

// impersonal lists the types of items that hold no data of a rider or driver, or
// identifiers only. docs/privacy.md has the others.
var impersonal = strings.Fields("body branding business client code comment delivery demo dispatch due email emitted " +
	"event family flags grant job key membership menuitem payments person post rank redelivery retention robots sent " +
	"service settings slug state swept tenant text token vote webhookCopy zone")

// TestPersonalDataIsListed: docs/privacy.md says of each type of item with data of a
// rider or driver what an erasure does with it. Whoever stores a new type of item
// decides where it belongs.
func TestPersonalDataIsListed(t *testing.T) {
	page, err := os.ReadFile("../../docs/privacy.md")
	testkit.Must(t, err)
	_, table, _ := strings.Cut(string(page), "| --- | --- | --- |\n")
	listed := map[string]bool{}
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		for kind := range strings.SplitSeq(strings.Split(line, "|")[1], ",") {
			listed[strings.TrimSpace(kind)] = true
		}
	}
	formats, err := os.ReadFile("testdata/stored_formats.txt")
	testkit.Must(t, err)
	for line := range strings.Lines(string(formats)) {
		kind, _, _ := strings.Cut(line, ":")
		if listed[kind] == slices.Contains(impersonal, kind) {
			t.Errorf("items of type %s: add them to docs/privacy.md if they hold data of a person, else to impersonal", kind)
		}
	}
}
