package signing_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/testkit"
	"svc/pkg/access/signing"
	"svc/pkg/base/fault"
)

func TestRotation(t *testing.T) {
	f := setup(t)
	ctx := t.Context()
	rotate := func() {
		t.Helper()
		if err := f.open(noOpener{f.sealer, t}).Rotate(ctx); err != nil { // it seals and never opens
			t.Fatal(err)
		}
	}
	expect := func(when string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, states(t, f.keys, "ES256")); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
	}
	expect("first", "signing")
	rotate()
	rotate()
	expect("second run and third", "signing", "waiting")
	list, _ := f.keys.List(ctx)
	for _, key := range list {
		if key.State == "waiting" && key.SignsFrom.Sub(key.PublishedAt) < signing.Lead {
			t.Errorf("%s is published %v before it signs", key.KID, key.SignsFrom.Sub(key.PublishedAt))
		}
	}
	first := f.mint(t)
	f.clock.add(signing.Period)
	second := f.mint(t)
	if kidOf(t, first) == kidOf(t, second) {
		t.Error("the waiting key did not take over")
	}
	rotate()
	expect("after a period", "verifying", "signing", "waiting")
	f.clock.add(2 * time.Hour)
	rotate()
	expect("when the last token of the first has expired", "signing", "waiting")
	f.clock.add(10 * signing.Period)
	rotate()
	list, _ = f.keys.List(ctx)
	for _, key := range list {
		if key.SignsFrom.After(key.PublishedAt) && key.SignsFrom.Sub(key.PublishedAt) < signing.Lead {
			t.Errorf("%s is published %v before it signs", key.KID, key.SignsFrom.Sub(key.PublishedAt))
		}
	}
}

func TestRaceRotate(t *testing.T) {
	f := fixture{db: testkit.Table(t), clock: newClock(), sealer: signing.NewSealer()}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := f.open(f.sealer).Rotate(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, alg := range signing.Algorithms {
		signs := 0
		for _, state := range states(t, f.open(nil), alg) {
			if state == "signing" {
				signs++
			}
		}
		if n := len(states(t, f.open(nil), alg)); signs != 1 || n > 2 {
			t.Errorf("%s: %d keys, %d sign", alg, n, signs)
		}
	}
}

func TestRevoke(t *testing.T) {
	f := setup(t)
	ctx := t.Context()
	if err := f.keys.Rotate(ctx); err != nil { // a key waits
		t.Fatal(err)
	}
	elsewhere := f.open(nil)
	raw := f.mint(t)
	if _, err := elsewhere.Verify(ctx, raw); err != nil {
		t.Fatal(err)
	}
	if err := f.keys.Revoke(ctx, "key_none"); !errors.Is(err, fault.NotFound()) {
		t.Errorf("unknown kid: %v", err)
	}
	for range 2 {
		if err := f.keys.Revoke(ctx, kidOf(t, raw)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.keys.Verify(ctx, raw); !errors.Is(err, signing.ErrToken) {
		t.Errorf("here: %v", err)
	}
	f.clock.add(signing.Reread)
	if _, err := elsewhere.Verify(ctx, raw); !errors.Is(err, signing.ErrToken) {
		t.Errorf("elsewhere, after a reread, with the token remembered: %v", err)
	}
	next := f.mint(t)
	if kidOf(t, next) == kidOf(t, raw) {
		t.Error("the revoked key signs")
	}
	if _, err := elsewhere.Verify(ctx, next); err != nil {
		t.Errorf("the waiting key's token: %v", err)
	}
	if set, _ := f.keys.KeySet(ctx); strings.Contains(string(set), kidOf(t, raw)) {
		t.Error("the revoked key is published")
	}
	if err := f.keys.Rotate(ctx); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"revoked", "signing", "waiting"}, states(t, f.keys, "ES256")); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownKidRereadsSeldom(t *testing.T) {
	wire := &testkit.Wire{}
	f := fixture{db: testkit.TableOnWire(t, wire), clock: newClock(), sealer: signing.NewSealer()}
	f.keys = f.open(f.sealer)
	if err := f.keys.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	verifier := f.open(nil)
	if _, err := verifier.Verify(t.Context(), f.mint(t)); err != nil {
		t.Fatal(err)
	}
	kid := kidOf(t, f.mint(t))
	if err := f.keys.Revoke(t.Context(), kid); err != nil {
		t.Fatal(err)
	}
	if err := f.keys.Rotate(t.Context()); err != nil { // none waited: the new key signs at once
		t.Fatal(err)
	}
	if _, err := verifier.Verify(t.Context(), f.mint(t)); err != nil {
		t.Errorf("an unknown kid does not make the set be read again: %v", err)
	}
	parts, before := strings.Split(f.mint(t), "."), wire.Sent()
	for i := range 100 {
		kid := "made-up-" + string(rune('a'+i%26))
		head := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"ES256","typ":"at+jwt","kid":"` + kid + `"}`))
		_, _ = verifier.Verify(t.Context(), head+"."+parts[1]+"."+parts[2])
	}
	if n := wire.Sent() - before; n > 1 {
		t.Errorf("100 made-up kids cost %d requests", n)
	}
}

// After a rotation or a revocation, every process publishes the new key set within a
// minute.
func TestKeysAreReadAgainWithinAMinute(t *testing.T) {
	f := setup(t)
	ctx := t.Context()
	elsewhere := f.open(nil)
	published := func() string {
		t.Helper()
		set, err := elsewhere.KeySet(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return string(set)
	}
	before := published()
	if err := f.keys.Rotate(ctx); err != nil {
		t.Fatal(err)
	}
	f.clock.add(time.Minute)
	rotated := published()
	if rotated == before {
		t.Error("a minute after a rotation the new key is not published")
	}
	if err := f.keys.Revoke(ctx, kidOf(t, f.mint(t))); err != nil {
		t.Fatal(err)
	}
	f.clock.add(time.Minute)
	if published() == rotated {
		t.Error("a minute after a revocation the key is published")
	}
}
