package schema_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc"
	"svc/internal/test/testkit"
	"svc/pkg/local/schema"
)

// newTable returns the test's engine and the name of a table that does not
// exist yet.
func newTable(t *testing.T) (url, name string) {
	t.Helper()
	return testkit.Endpoint(t), testkit.Fresh()
}

func TestEnsureTable(t *testing.T) {
	url, name := newTable(t)
	ctx := t.Context()
	first, err := schema.EnsureTable(ctx, url, svc.Template, schema.Options{Name: name})
	if err != nil || first.StreamARN == "" || !first.New {
		t.Fatalf("EnsureTable: %+v, %v", first, err)
	}
	for range 2 {
		again, err := schema.EnsureTable(ctx, url, svc.Template, schema.Options{Name: name})
		if err != nil || again.StreamARN != first.StreamARN || again.New {
			t.Fatalf("again: %+v, %v; want %+v", again, err, first)
		}
	}
}

func TestStreamSwitchedOnLater(t *testing.T) {
	url, name := newTable(t)
	ctx := t.Context()
	o := schema.Options{Name: name, StreamOff: true}
	made, err := schema.EnsureTable(ctx, url, svc.Template, o)
	if err != nil || made.StreamARN != "" {
		t.Fatalf("EnsureTable: %+v, %v", made, err)
	}
	arn, err := schema.EnableStream(ctx, url, name)
	if err != nil || arn == "" {
		t.Fatalf("EnableStream: %q, %v", arn, err)
	}
	if again, err := schema.EnableStream(ctx, url, name); err != nil || again != arn {
		t.Fatalf("EnableStream again: %q, %v; want %q", again, err, arn)
	}
}

// Items expire, except in a table with KeepExpired.
func TestTimeToLive(t *testing.T) {
	for keep, want := range map[bool]types.TimeToLiveStatus{false: types.TimeToLiveStatusEnabled,
		true: types.TimeToLiveStatusDisabled} {
		url, name := newTable(t)
		if _, err := schema.EnsureTable(t.Context(), url, svc.Template, schema.Options{Name: name, StreamOff: true,
			KeepExpired: keep}); err != nil {
			t.Fatal(err)
		}
		db, _ := schema.Clients(url)
		out, err := db.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &name})
		if err != nil || out.TimeToLiveDescription.TimeToLiveStatus != want {
			t.Errorf("kept %v: %+v, %v", keep, out, err)
		}
	}
}

func TestAnotherLayoutIsRefused(t *testing.T) {
	url, name := newTable(t)
	ctx := t.Context()
	if _, err := schema.EnsureTable(ctx, url, svc.Template, schema.Options{Name: name}); err != nil {
		t.Fatal(err)
	}
	changed := strings.ReplaceAll(string(svc.Template), "by-g4", "by-g5")
	_, err := schema.EnsureTable(ctx, url, []byte(changed), schema.Options{Name: name})
	if err == nil || !strings.Contains(err.Error(), "by-g5") || strings.Contains(err.Error(), "\n") {
		t.Fatalf("a table of another layout: %v", err)
	}
}

func TestTemplateWithoutTable(t *testing.T) {
	for name, template := range map[string]string{"no table": "Resources: {}", "no YAML": "\t:"} {
		t.Run(name, func(t *testing.T) {
			_, err := schema.EnsureTable(t.Context(), "http://127.0.0.1:1", []byte(template), schema.Options{})
			if err == nil || !strings.Contains(err.Error(), "template.yaml") {
				t.Errorf("EnsureTable: %v", err)
			}
		})
	}
}
