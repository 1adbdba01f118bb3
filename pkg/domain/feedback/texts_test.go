package feedback

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/data/table"
)

// A search reads the texts that do not fit into memory again, so it is complete
// with any memory limit.
func TestTextsBeyondMemory(t *testing.T) {
	testkit.Long(t)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p := testkit.Table(t).Platform(Kinds...)
	loadTexts(t, p, now, 2500, "ordinary text")
	for _, bytes := range []int{0, 100_000, 1 << 20} {
		x := &texts{partition: textPartition(UnderReview), maxBytes: bytes}
		for range 2 {
			found, err := x.matching(t.Context(), p, now, "ORDINARY")
			if err != nil || len(found) != 2500 || x.now.bytes > bytes {
				t.Errorf("%d bytes: %d found, %d bytes kept, %v", bytes, len(found), x.now.bytes, err)
			}
			if found, err = x.matching(t.Context(), p, now, "n2499."); err != nil || len(found) != 1 {
				t.Errorf("%d bytes: the last: %v, %v", bytes, found, err)
			}
		}
	}
}

func loadTexts(t testing.TB, p table.Platform, now time.Time, n int, text string) {
	t.Helper()
	var items []table.Item
	for i := range n {
		post, texts, err := Draft{Title: fmt.Sprintf("n%d.", i), Body: text}.New("usr_1", "ten_1",
			now.Add(time.Duration(i-2*n)*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, textItem(post, texts))
	}
	if err := p.Load(context.Background(), items...); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkSearch measures searches of 100,000 posts: the first search of a
// process, which loads the texts, and later searches.
func BenchmarkSearch(b *testing.B) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p := testkit.Table(b).Platform(Kinds...)
	loadTexts(b, p, now, 100_000, strings.Repeat("An ordinary sentence of a post, of sixty characters or so. ", 10))
	for _, name := range []string{"first", "next"} {
		b.Run(name, func(b *testing.B) {
			x := &texts{partition: textPartition(UnderReview), maxBytes: textMemory}
			if _, err := x.matching(b.Context(), p, now, "load"); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if name == "first" {
					x = &texts{partition: x.partition, maxBytes: textMemory}
				}
				if found, err := x.matching(b.Context(), p, now, "N99999."); err != nil || len(found) != 1 {
					b.Fatal(len(found), err)
				}
			}
			runtime.GC()
			var used runtime.MemStats
			runtime.ReadMemStats(&used)
			b.ReportMetric(float64(used.HeapAlloc)/(1<<20), "MB-heap")
			b.ReportMetric(float64(x.now.bytes)/(1<<20), "MB-texts")
		})
	}
}
