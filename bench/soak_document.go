package main

import (
	"fmt"
	"strings"
	"time"

	"svc/pkg/local/markdown"
)

func soakSection(machine string, w *watch, compared string) string {
	const soakRows = 12 // of the table
	last := w.all[len(w.all)-1]
	text := "## Soak on " + w.engine + "\n\n" + paragraph("soak", machine,
		last.at.Round(time.Second), last.requests, last.rides, w.load.again, compared)
	text += paragraph("soak table")
	var rows [][]string
	for i := range soakRows {
		part := w.all[i*len(w.all)/soakRows : (i+1)*len(w.all)/soakRows]
		if len(part) == 0 {
			continue
		}
		s := part[len(part)-1]
		var p50 []time.Duration // of the samples with requests
		var p99 time.Duration
		for _, one := range part {
			if p99 = max(p99, one.p99); one.p50 > 0 {
				p50 = append(p50, one.p50)
			}
		}
		if len(p50) > 0 {
			s.p50 = rank(p50, 0.5)
		}
		rows = append(rows, strings.Fields(fmt.Sprintf("%s %d %s %s %.1f %.0f %.0f %.0f %.0f %.0f %.1f %.2f",
			s.at.Round(time.Second), s.rides, ms(s.p50), ms(p99), s.heap/mb, s.resident/mb, s.goroutines, s.files,
			s.engine/mb, s.open, s.stored/mb, s.lag.Seconds())))
	}
	return text + markdown.Table([]string{"after", ">rides", ">p50 ms", ">p99 ms", ">heap MB", ">resident MB",
		">goroutines", ">files", ">engine MB", ">engine files", ">data MB", ">lag s"}, rows) + "\n"
}
