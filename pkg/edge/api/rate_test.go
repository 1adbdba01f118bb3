package api

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"svc/pkg/access/signing"
	"svc/pkg/base/fault"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// admitted counts how many of n requests at the same time are admitted.
func admitted(b *buckets, r Rates, tenant, client string, at time.Time, n int) (admitted int) {
	for range n {
		if b.charge(r, signing.Access{TenantID: tenant, ClientID: client, Subject: client}, at) == nil {
			admitted++
		}
	}
	return admitted
}

func TestBuckets(t *testing.T) {
	r := Rates{Tenant: 10, Client: 5}
	b := &buckets{}
	steps := []struct {
		name, tenant, client string
		after                time.Duration
		sent, want           int
	}{
		{"a client has two seconds' worth at once", "a", "1", 0, 100, 10},
		{"another client of the tenant has its own, up to the tenant's", "a", "2", 0, 100, 10},
		{"a third finds the tenant's empty", "a", "3", 0, 100, 0},
		{"the same client in another tenant is another", "b", "1", 0, 100, 10},
		{"a fifth of a second is one request of the client", "a", "1", 200 * time.Millisecond, 100, 1},
		{"and two of the tenant", "a", "3", 200 * time.Millisecond, 100, 1},
		{"what was refused costs nothing", "a", "1", 400 * time.Millisecond, 100, 1},
		{"nothing adds up beyond two seconds", "a", "1", time.Hour, 100, 10},
		{"a request that began a little earlier finds it as empty", "a", "1", time.Hour - 20*time.Millisecond, 100, 0},
		{"a clock that was set back starts anew", "a", "1", 0, 100, 10},
	}
	for _, step := range steps {
		if got := admitted(b, r, step.tenant, step.client, noon.Add(step.after), step.sent); got != step.want {
			t.Errorf("%s: %d of %d admitted, want %d", step.name, got, step.sent, step.want)
		}
	}
}

func TestRetryAfterIsEnough(t *testing.T) {
	for _, r := range []Rates{{Tenant: 1}, {Client: 3}, {Tenant: 7, Client: 2}, {Tenant: 1000}} {
		b := &buckets{}
		a := signing.Access{TenantID: "a", ClientID: "1"}
		var refused *fault.Error
		for range 10_000 {
			if errors.As(b.charge(r, a, noon), &refused) {
				break
			}
		}
		if refused == nil || refused.Kind != fault.KindRateLimited || refused.RetryAfter <= 0 {
			t.Fatalf("%+v: %+v", r, refused)
		}
		if err := b.charge(r, a, noon.Add(refused.RetryAfter-1)); err == nil {
			t.Errorf("%+v: admitted before %v", r, refused.RetryAfter)
		}
		if err := b.charge(r, a, noon.Add(refused.RetryAfter)); err != nil {
			t.Errorf("%+v: refused after %v", r, refused.RetryAfter)
		}
	}
}

// The memory does not grow with the number of tenants and clients. A bucket without
// tokens outlives the generation in which it was made.
func TestBucketsAreBounded(t *testing.T) {
	r, b := Rates{Tenant: 1, Client: 1}, &buckets{}
	if got := admitted(b, r, "busy", "1", noon, 5); got != 2 {
		t.Errorf("%d admitted, want 2", got)
	}
	for i := range 10 * mostBuckets {
		at := noon.Add(time.Duration(i) * time.Microsecond)
		admitted(b, r, fmt.Sprint("tenant ", i), "1", at, 1)
		if i == mostBuckets/2 { // three buckets a request: a generation and a half
			if got := admitted(b, r, "busy", "1", at, 5); got != 0 {
				t.Errorf("%d admitted of a client that has used its limit", got)
			}
		}
	}
	if n := len(b.young) + len(b.old); n > 2*mostBuckets {
		t.Errorf("%d buckets are kept", n)
	}
}

func TestNoRate(t *testing.T) {
	b := &buckets{}
	if got := admitted(b, Rates{}, "a", "1", noon, 10_000); got != 10_000 || b.young != nil {
		t.Errorf("%d admitted, %d buckets", got, len(b.young))
	}
	if got := admitted(b, Rates{Tenant: 5}, "a", "1", noon, 100); got != 6 {
		t.Errorf("%d admitted, want those of three quarters of the tenant's limit", got)
	}
}

// An admitted request allocates nothing for its buckets.
func TestAdmitAllocatesNothing(t *testing.T) {
	b, a, at := &buckets{}, signing.Access{TenantID: "a", ClientID: "1"}, noon
	least := 1.0
	for range 5 {
		least = min(least, testing.AllocsPerRun(100, func() {
			at = at.Add(time.Second)
			if err := errors.Join(b.admit(Rates{Tenant: 5, Client: 5}, a, at), b.charge(Rates{Tenant: 5, Client: 5}, a,
				at)); err != nil {
				t.Fatal(err)
			}
		}))
	}
	if least > 0 {
		t.Errorf("%.0f allocations", least)
	}
}

// One person cannot use up the tenant's limit, however many clients and tokens
// the person has.
func TestPersonWithManyClients(t *testing.T) {
	for _, r := range []Rates{{Tenant: 20, Client: 15}, {Tenant: 20, Client: 20}, {Tenant: 20, Client: 500},
		{Tenant: 20}} {
		b := &buckets{}
		served := 0
		for n := range 1000 {
			a := signing.Access{TenantID: "a", Subject: "p", ClientID: fmt.Sprint(n % 7), ID: fmt.Sprint(n)}
			if b.admit(r, a, noon) == nil && b.charge(r, a, noon) == nil {
				served++
			}
		}
		other := signing.Access{TenantID: "a", Subject: "q", ClientID: "1", ID: "other"}
		if served != 30 {
			t.Errorf("%+v: %d requests of one person at once, want 30", r, served)
		}
		if r.Client != 15 && b.charge(r, other, noon) != nil {
			t.Errorf("%+v: nothing is left for another person", r)
		}
	}
}
