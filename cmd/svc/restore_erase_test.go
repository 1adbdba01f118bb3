package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"svc/internal/test/testkit"
	"svc/pkg/background/erasure"
	"svc/pkg/domain/privacy"
	"svc/pkg/local/folder"
	"svc/pkg/local/schema"
)

// where returns which of the values are in the table or in the files of the data
// folder. The files of the engine are not read: their freed pages keep old data.
func (w *world) where(values []string) map[string][]string {
	w.Helper()
	found := map[string][]string{}
	look := func(place, text string) {
		for _, value := range values {
			if strings.Contains(strings.ToLower(text), strings.ToLower(value)) {
				found[value] = append(found[value], place)
			}
		}
	}
	running, err := folder.Find(w.Context(), w.data)
	testkit.Must(w, err)
	client, _ := schema.Clients(running.Endpoint)
	for pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &running.Table}); pages.HasMorePages(); {
		page, err := pages.NextPage(context.Background())
		testkit.Must(w, err)
		for _, it := range page.Items {
			text, err := json.Marshal(it)
			testkit.Must(w, err)
			look("item "+string(text), string(text))
		}
	}
	testkit.Must(w, fs.WalkDir(os.DirFS(w.data), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.Contains(path, ".db") {
			return err
		}
		text, err := os.ReadFile(filepath.Join(w.data, path))
		look("file "+path, path+string(text))
		return err
	}))
	return found
}

// TestErasuresOfARestoredFolder: a copy of the folder from before an erasure has the
// person again. After the journal of the later table is applied to it, nothing of the
// person is there, and everything that is counted is exact.
func TestErasuresOfARestoredFolder(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	data, backup := demoFolder(t), filepath.Join(t.TempDir(), "backup")
	w := &world{T: t, data: data}
	values := []string{"Zwenda", "Quillfeather", "quill@metro.example", "9 Basilisk Row", "bring an umbrella", "40.712345"}
	var made struct{ ID string }

	base, _, stop := devFor(t, data, hasDemo)
	w.ok("rider", "add", "metro", "quill@metro.example", "--first", "Zwenda", "--last", "Quillfeather", "--password",
		"correct horse battery")
	token := strings.TrimSpace(w.ok("token", "get", "--tenant", "metro", "--audience", "rider", "--email",
		"quill@metro.example", "--password", "correct horse battery"))
	testkit.Must(t, json.Unmarshal([]byte(call(t, "POST", base+"/api/v1/me/trips", token,
		`{"originAddress": "9 Basilisk Row", "originLat": 40.712345, "originLng": -74, "notes": "bring an umbrella"}`, 201)), &made))
	call(t, "POST", base+"/api/v1/me/trips/"+made.ID+"/cancel", token, `{}`, 200)
	w.ok("rebuild") // the demo is settled, however slow the stream is
	stop()
	copyFolder(t, backup, data)

	_, _, stop = devFor(t, data, hasDemo)
	erase := w.request("erase", "--customer", "quill@metro.example")
	w.became(erase.ID, privacy.Ready)
	w.request("run", erase.ID, "--yes")
	w.became(erase.ID, privacy.Done)
	journal := w.ok("restore", "erasures", "--json")
	if !strings.Contains(journal, *erase.CustomerID) || slices.ContainsFunc(values, func(value string) bool {
		return strings.Contains(journal, value)
	}) {
		t.Fatalf("the journal is %s", journal)
	}
	stop()

	w.data = backup
	_, _, stop = devFor(t, backup, hasDemo)
	defer stop()
	if again := w.where(values); len(again) != len(values) {
		t.Fatalf("the restored folder has only %v", again)
	}
	for range 2 {
		var out, errs bytes.Buffer
		c := newCLI(&out, &errs)
		c.Stdin = strings.NewReader(journal)
		if code := c.Run(t.Context(), []string{"restore", "erase", "--yes", "--data", backup}); code != 0 {
			t.Fatalf("svc restore erase: %d %s", code, &errs)
		}
	}
	var left map[string][]string
	for deadline := time.Now().Add(testkit.Patience); ; time.Sleep(100 * time.Millisecond) { // the stream is read
		if left = w.where(values); len(left) == 0 || time.Now().After(deadline) {
			break
		}
	}
	for value, places := range left {
		t.Errorf("after the erasure %q is in %q", value, places)
	}
	var list []erasure.Erased
	testkit.Must(t, json.Unmarshal([]byte(w.ok("restore", "erasures", "--json")), &list))
	if len(list) != 1 || list[0].Person != *erase.CustomerID {
		t.Errorf("the journal of the restored table is %+v", list)
	}
	w.ok("rebuild")
	w.ok("verify")
}
