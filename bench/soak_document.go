package main

import (
	"fmt"
	"strings"
	"time"

	"svc/pkg/local/markdown"
)

// soakRows is the number of rows of the table.
const soakRows = 12

func soakSection(machine string, w *watch, compared string) string {
	last := w.all[len(w.all)-1]
	text := "## Soak on " + w.engine + "\n\n" + markdown.Paragraph(
		"Measured by `make soak` on %s. `svc dev` ran as a separate process, with its data on disk, under mixed load for "+
			"%s. The load was %d requests: %d rides from request to receipt, and lists, reports, refreshes, sign-ins and an "+
			"agent's tool calls. %d API and MCP requests were sent again, because the machine was too busy for them (a 503, a "+
			"timeout of a function, or a tool result that says so). The run fails if an answer is wrong. It also fails if "+
			"memory, goroutines, open files, lag or the bytes stored for a ride grow from the second quarter of the run to "+
			"the last, by more than a tolerance. At the end the reports counted every ride and every fare exactly, and `svc "+
			"verify` said: %s", machine,
		last.at.Round(time.Second), last.requests, last.rides, w.load.again, compared)
	text += markdown.Paragraph(
		"The run is divided into twelve equal parts. Except for the latencies, each row shows the end of one part. *Heap* " +
			"is the live heap of `svc dev`. *Data* is the size of the engine's files, which grows with the rides. The client " +
			"measures latencies, over HTTP. A row shows the median p50 and the highest p99 of the samples in its part. Each " +
			"sign-in that hashes a password during a garbage collection shows as 19 MB more heap.")
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
