package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

func soakMarkers(engine string) (begin, end string) {
	return "<!-- soak of " + engine + ": begin -->", "<!-- soak of " + engine + ": end -->"
}

// writeSection replaces the section between the markers in the document.
func writeSection(file, begin, end, section string) error {
	text, err := os.ReadFile(file) //nolint:gosec // a document of the repository
	if err != nil {
		return err
	}
	if text, err = between(text, begin, end, section); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, text, 0o644) //nolint:gosec // a document of the repository
}

// soakRows is the number of rows of the table.
const soakRows = 12

func soakSection(machine string, w *watch, compared string) string {
	var b strings.Builder
	last := w.all[len(w.all)-1]
	fmt.Fprintf(&b, "## Soak on %s\n\n", w.engine)
	prose(&b, "Measured by `make soak` on %s; %s. `svc dev` as a process of its own, with its data on disk, under mixed "+
		"load for %s: %d requests, %d rides from request to receipt, with lists, reports, refreshes, sign-ins and an "+
		"agent's tool calls; %d answers were 503 and sent again. The run fails if an answer is wrong, or if what the "+
		"processes hold is more in the last quarter than in the second. At the end the reports had every ride and its "+
		"fare exactly, and `svc verify` said: %s", machine, time.Now().UTC().Format("2 January 2006"),
		last.at.Round(time.Second), last.requests, last.rides, w.load.again, compared)
	prose(&b, "Each row is the end of a twelfth of the time. *Heap* is the live heap of `svc dev`. *Data* is the size of "+
		"the engine's files, which grows with the rides. Latencies are those of the client, over HTTP; the "+
		"median p50 and the worst p99 of the row's samples. A sign-in that hashes "+
		"a password during a garbage collection shows as 19 MB more heap.")
	b.WriteString("| after | rides | p50 ms | p99 ms | heap MB | resident MB | goroutines | files | engine MB | " +
		"engine files | data MB | lag s |\n| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |" +
		" ---: |\n")
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
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %.1f | %.0f | %.0f | %.0f | %.0f | %.0f | %.1f | %.2f |\n",
			s.at.Round(time.Second), s.rides, ms(s.p50), ms(p99), s.heap/mb, s.resident/mb, s.goroutines, s.files,
			s.engine/mb, s.open, s.stored/mb, s.lag.Seconds())
	}
	b.WriteString("\n")
	return b.String()
}
