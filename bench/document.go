package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/pkg/local/markdown"
)

//go:embed texts.txt
var paragraphs string

// paragraph returns the paragraph of texts.txt under a title, with the values in it.
func paragraph(title string, args ...any) string {
	_, rest, found := strings.Cut(paragraphs, "# "+title+"\n")
	text, _, _ := strings.Cut(rest, "\n\n")
	if !found {
		panic("texts.txt has no " + title)
	}
	return markdown.Paragraph(text, args...)
}

// described describes the machine and its load at the start, and the day.
func described() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	_, rest, _ := strings.Cut(string(info), "model name\t: ")
	model, _, _ := strings.Cut(rest, "\n")
	out := fmt.Sprintf("%d cores of an %s, shared with other work", runtime.NumCPU(), cmp.Or(model, "processor"))
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ := strings.Cut(string(text), " ")
		out += fmt.Sprintf(" (load average %s at the start)", load)
	}
	return fmt.Sprintf("%s; %s %s/%s; %s", out, runtime.Version(), runtime.GOOS, runtime.GOARCH, today())
}

func today() string { return time.Now().UTC().Format("2 January 2006") }

// rank returns the quantile x (0 to 1) of the values.
func rank[T cmp.Ordered](values []T, x float64) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(x*float64(len(sorted))), len(sorted)-1)]
}

// medianOf returns the median of one value of each element.
func medianOf[T any, V cmp.Ordered](all []T, of func(T) V) V {
	values := make([]V, len(all))
	for i, one := range all {
		values[i] = of(one)
	}
	return rank(values, 0.5)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d.Microseconds())/1000) }

func units(n float64) string { return strconv.FormatFloat(math.Round(n*100)/100, 'f', -1, 64) }
