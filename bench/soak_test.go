package main

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// samplesOf returns the samples of an hour of constant load. change modifies
// each sample.
func samplesOf(change func(i int, s *sample)) *watch {
	w, noise := &watch{}, rand.New(rand.NewPCG(1, 2))
	for i := range 120 {
		some := func(x float64) float64 { return x * (0.8 + 0.4*noise.Float64()) }
		s := sample{rides: 60 * i, goroutines: some(100), heap: some(10 * mb), resident: some(60 * mb), files: some(40),
			engine: some(20 * mb), open: some(40), stored: 8*mb + float64(60*i)*some(6000),
			lag: time.Duration(some(float64(time.Second)))}
		change(i, &s)
		w.all = append(w.all, s)
	}
	return w
}

// A leak of any resource is found. Noise and a higher usage at the start are no
// leaks.
func TestSoakFindsLeaks(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(i int, s *sample)
		want   string
	}{
		"flat":             {func(int, *sample) {}, ""},
		"more at first":    {func(i int, s *sample) { s.heap += float64(max(0, 20-i)) * mb }, ""},
		"peaks":            {func(i int, s *sample) { s.heap += float64(i%10/9) * 40 * mb }, ""},
		"connections":      {func(i int, s *sample) { s.goroutines += float64(i); s.files += float64(i) / 2 }, ""},
		"a goroutine":      {func(i int, s *sample) { s.goroutines += float64(s.rides) / 6 }, "goroutines"},
		"memory":           {func(i int, s *sample) { s.heap += float64(i) * mb }, "bytes of live heap"},
		"files":            {func(i int, s *sample) { s.files += float64(s.rides) / 12 }, "open files"},
		"the engine":       {func(i int, s *sample) { s.engine += float64(i) * 16 * mb }, "resident bytes of the engine"},
		"falling behind":   {func(i int, s *sample) { s.lag += time.Duration(i) * time.Second }, "seconds of lag"},
		"data of one ride": {func(i int, s *sample) { s.stored += float64(i*i*i) * 1000 }, "bytes stored for a ride"},
	} {
		t.Run(name, func(t *testing.T) {
			err := samplesOf(tt.change).judge()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v; want %q", err, tt.want)
			}
		})
	}
	err := (&watch{all: make([]sample, leastSamples-1)}).judge()
	if err == nil || !strings.Contains(err.Error(), "too few") {
		t.Errorf("few samples: %v", err)
	}
}

// A request that a busy machine did not serve is sent again, and no other
// request is.
func TestStarved(t *testing.T) {
	const tool = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"{\"error\":\"CODE\",\"error_description\":\"S\"}",` +
		`"type":"text"}],"isError":true,"resultType":"complete"}}`
	for _, tt := range []struct {
		status int
		text   string
		want   bool
	}{
		{503, `{"error":"temporarily_unavailable"}`, true},
		{500, `{"message":"Internal Server Error"}`, true},
		{500, `{"error":"server_error"}`, false},
		{200, strings.Replace(tool, "CODE", "temporarily_unavailable", 1), true},
		{200, strings.Replace(tool, "CODE", "server_error", 1), false},
		{200, `{"items":[{"notes":"temporarily_unavailable"}]}`, false},
	} {
		if got := starved(tt.status, tt.text); got != tt.want {
			t.Errorf("%d %s: %v", tt.status, tt.text, got)
		}
	}
}
