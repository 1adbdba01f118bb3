package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"svc/cmd/svc/cli"
	"svc/internal/test/testkit"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
	"svc/pkg/local/folder"
	"svc/pkg/local/schema"
)

// stored reads every item of the service's table, as texts by key.
func (w *world) stored() map[string]string {
	w.Helper()
	running, err := folder.Find(w.Context(), w.data)
	if err != nil {
		w.Fatal(err)
	}
	db, _ := schema.Clients(running.Endpoint)
	out := map[string]string{}
	for pages := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{TableName: &running.Table}); pages.HasMorePages(); {
		page, err := pages.NextPage(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		for _, it := range page.Items {
			out[valueText(it["pk"])+" "+valueText(it["sk"])] = itemText(it)
		}
	}
	return out
}

func valueText(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberBOOL:
		return fmt.Sprint(v.Value)
	case *types.AttributeValueMemberSS:
		return strings.Join(slices.Sorted(slices.Values(v.Value)), ",")
	}
	return fmt.Sprintf("%#v", v)
}

func itemText(it map[string]types.AttributeValue) string {
	var parts []string
	for name, value := range it {
		parts = append(parts, fmt.Sprintf("%s=%T:%s", name, value, valueText(value)))
	}
	return strings.Join(slices.Sorted(slices.Values(parts)), "\n")
}

// remove runs `svc tenant delete SLUG` with the given input. It does not wait for
// running requests, because the test has none.
func (w *world) remove(ctx context.Context, slug, input string, flags ...string) (out, errs string, code int) {
	var o, e bytes.Buffer
	c := newCLI(&o, &e)
	c.Stdin = strings.NewReader(input)
	code = c.Run(ctx, append([]string{"tenant", "delete", slug, "--data", w.data}, flags...))
	return o.String(), e.String(), code
}

// everyone adds to the demo's items of the tenant: tokens, consents and sessions
// of each audience, a one-time link and a domain.
func (w *world) everyone() {
	w.Helper()
	w.token("dashboard", "operator@metro.example")
	w.token("rider", "rider1@metro.example")
	w.token("driver", "driver1@metro.example")
	w.ok("person", "link", "rider1@metro.example", "--audience", "rider", "--tenant", "metro")
	w.ok("tenant", "set", "metro", "--domain", "ride.metro.example")
	w.ok("verify") // returns when the stream functions have written everything
}

// A deletion leaves nothing of the tenant, frees its slug and domain, and
// changes nothing of another tenant.
func TestTenantDelete(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	w := start(t)
	w.everyone()
	metro := read[tenant.Tenant](w, "tenant", "show", "metro")
	operator := w.token("dashboard", "operator@metro.example")
	robots := read[tenant.Tenant](w, "tenant", "show", "sandbox").ID
	// The running service writes by its clock: the lists of what is due, and the sandbox.
	scheduled := func(key string) bool { return strings.HasPrefix(key, "DUE#") || strings.Contains(key, robots) }
	const released = "DOMAIN#ride.metro.example DOMAIN" // stays, without a tenant
	before := w.stored()
	if out, errs, code := w.remove(t.Context(), "metro", "metro\n", "--yes", "--json"); code != 0 {
		t.Fatalf("exit code %d: %s %s", code, out, errs)
	}
	after := w.stored()
	for key, text := range after {
		if before[key] == text || strings.HasPrefix(key, "PERSON#") || scheduled(key) {
			continue
		}
		if !strings.HasPrefix(key, "DELETED#") && key != released {
			t.Errorf("%s was written: %s", key, cmp.Diff(before[key], text))
		}
	}
	removed := 0
	for key, text := range before {
		own := strings.Contains(key, metro.ID) || strings.Contains(text, `"tenant":"`+metro.ID+`"`) ||
			key == "SLUG#metro SLUG"
		if _, there := after[key]; there == own && (own || !scheduled(key)) {
			t.Errorf("%s of the tenant: %v; still there: %v", key, own, there)
		}
		if own {
			removed++
		}
	}
	for key, text := range after {
		if strings.Contains(key+text, metro.ID) && !roadmap(key) && !strings.HasPrefix(key, "DELETED#") {
			t.Errorf("%s names the tenant: %s", key, text)
		}
	}
	if removed < 300 {
		t.Errorf("%d items; the demo has more", removed)
	}
	w.expect("/api/v1/trips", operator, 401, "unauthorized")
	gone := read[[]tenant.Deleted](w, "tenant", "list", "--deleted")
	if len(gone) != 1 || gone[0].Slug != "metro" || gone[0].ID != metro.ID || !strings.HasPrefix(gone[0].Who, "svc") {
		t.Errorf("%+v", gone)
	}
	w.ok("tenant", "create", "metro", "--domain", "ride.metro.example")
	w.ok("verify")
}

// roadmap reports whether an item belongs to the roadmap, which all tenants share.
func roadmap(key string) bool {
	return strings.HasPrefix(key, "POST#") || strings.HasPrefix(key, "POSTS#")
}

// Without --yes and the slug typed, nothing is deleted.
func TestTenantDeleteRefuses(t *testing.T) {
	t.Parallel()
	w := start(t)
	before := read[tenant.Tenant](w, "tenant", "show", "metro")
	for name, tc := range map[string]struct {
		slug, input string
		flags       []string
		code        int
		want        string
	}{
		"no --yes":     {"metro", "metro\n", nil, cli.ExitUsage, "--yes"},
		"nothing":      {"metro", "", []string{"--yes"}, cli.ExitUsage, "was not typed"},
		"another slug": {"metro", "harbor\n", []string{"--yes"}, cli.ExitUsage, "was not typed"},
		"a yes":        {"metro", "yes\n", []string{"--yes"}, cli.ExitUsage, "was not typed"},
		"unknown":      {"metrp", "metrp\n", []string{"--yes"}, cli.ExitFailure, "metro"},
	} {
		if _, errs, code := w.remove(t.Context(), tc.slug, tc.input, tc.flags...); code != tc.code ||
			!strings.Contains(errs, tc.want) {
			t.Errorf("%s: %d %s", name, code, errs)
		}
	}
	if now := read[tenant.Tenant](w, "tenant", "show", "metro"); now != before {
		t.Errorf("%+v", now)
	}
}

// A deletion that was interrupted has switched the tenant off: no command
// changes it, streams write nothing of it, and the same command ends it.
func TestTenantDeleteContinues(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	w := start(t)
	w.everyone()
	metro := read[tenant.Tenant](w, "tenant", "show", "metro")
	rider := w.token("rider", "rider1@metro.example")
	db := w.opened()
	if _, err := (tenant.Store{DB: db}).BeginDelete(t.Context(), metro.ID, cli.By()); err != nil {
		t.Fatal(err)
	}
	f := db.Tenant(metro.ID).Footprint()
	keys, _, err := f.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	keys = slices.DeleteFunc(keys, func(key table.Key) bool {
		return tenant.Last(db.Tenant(metro.ID), key) || strings.Contains(key.PK, "#PERSON#")
	})
	if err := f.Remove(t.Context(), keys[:len(keys)/2]); err != nil {
		t.Fatal(err)
	}
	w.expect("/api/v1/me", rider, 401, "unauthorized")
	for _, args := range [][]string{{"tenant", "set", "metro", "--disable=false"}, {"rider", "list", "metro"},
		{"tenant", "show", "metro"}} {
		if _, errs, code := w.run(args...); code != cli.ExitFailure || !strings.Contains(errs, "svc tenant delete") {
			t.Errorf("%v: %d %s", args, code, errs)
		}
	}
	if _, errs, code := w.remove(t.Context(), "metro", "metro\n", "--yes"); code != 0 {
		t.Fatal(errs)
	}
	for key, text := range w.stored() {
		if strings.Contains(key+text, metro.ID) && !roadmap(key) && !strings.HasPrefix(key, "DELETED#") {
			t.Errorf("%s names the tenant: %s", key, text)
		}
	}
	w.ok("verify")
}
