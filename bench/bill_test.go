package main

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/pkg/app"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

func tables(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/tables.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestAuthorizedReadCosts: a million authorized reads cost at most $2.00, rounded to
// the cent. The processor time and the units are those in the document. A test of
// pkg/domain/profile also limits the units.
func TestAuthorizedReadCosts(t *testing.T) {
	const most = 2.00
	text := tables(t)
	r, err := ratesOf(svc.Template)
	if err != nil {
		t.Fatal(err)
	}
	_, bill, _ := strings.Cut(text, "## The bill\n")
	_, row, found := strings.Cut(bill, "\n| `GET /me` (rider) | ")
	cells := strings.Split(strings.SplitN(row, "\n", 2)[0], " | ")
	if !found || len(cells) != 7 {
		t.Fatal("the bill in docs/tables.md has no row of GET /me (rider)")
	}
	number := func(cell string) float64 {
		n, err := strconv.ParseFloat(strings.Trim(cell, "* |"), 64)
		if err != nil {
			t.Fatalf("%q in the row of GET /me (rider): %v", cell, err)
		}
		return n
	}
	reads, writes, total := number(cells[0]), number(cells[1]), number(cells[6])
	var line bytes.Buffer
	app.Requests(&line, app.Me)(t.Context(), api.Observation{RequestID: "req_JKJaXmPLvHcESHA=", Operation: "svc_me",
		Status: 200, Tenant: ids.New(ids.Tenant, time.Now()), Client: ids.New(ids.Client, time.Now()),
		Elapsed: 8 * time.Millisecond, Usage: table.Usage{Sequential: 1, ReadUnits: reads}})
	got := r.of(usage{name: "GET /me (rider)", function: app.Me, requests: 1, trips: 1, logged: line.Len(),
		all: load{reads, writes}})
	if reads < 5 || writes != 0 || got.sum() >= most+0.005 || total > most {
		t.Errorf("%g read and %g write units cost $%.4f, and $%.2f in the document; want at most $%.2f: %+v", reads, writes,
			got.sum(), total, most, got)
	}
	if s := strconv.FormatFloat(got.sum(), 'f', 2, 64); s != strings.Trim(cells[6], "* |") {
		t.Errorf("costs $%s, and $%.2f in the document; run `make ceilings`", s, total)
	}
}

// TestBillReadsProcessorTime: an operation is billed with the time that was measured, and
// one that was not measured yet with the assumed time.
func TestBillReadsProcessorTime(t *testing.T) {
	r, err := ratesOf(svc.Template)
	if err != nil {
		t.Fatal(err)
	}
	one := usage{name: "GET /me (rider)", function: app.Me, requests: 1}
	of := func(milliseconds float64) float64 {
		r.used[one.name] = used{CPU: time.Duration(milliseconds * 1e6)}
		return r.of(one).lambda
	}
	measured, assumed := r.of(one).lambda, of(r.Assumed.MillisecondsOfCPU)
	if got := of(0); got <= 0 || got != assumed || measured == assumed || of(2*r.Assumed.MillisecondsOfCPU) <= assumed {
		t.Errorf("Lambda costs %g measured, %g assumed, %g not measured", measured, assumed, got)
	}
}

// TestAccessLogBytes: the gateway's line of a small request stays short.
func TestAccessLogBytes(t *testing.T) {
	r, err := ratesOf(svc.Template)
	if err != nil {
		t.Fatal(err)
	}
	want := "req_JKJaXmPLvHcESHA= 200 20 - GET /api/v1/me"
	if got := r.access.line(usage{name: "GET /me (rider)", function: app.Me}); got != want {
		t.Errorf("the line is %q, want %q", got, want)
	}
}
