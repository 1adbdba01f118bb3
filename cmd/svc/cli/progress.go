package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"svc/pkg/base/plaintext"
)

// Progress shows the progress of long work. On a terminal it updates one line,
// with a bar if the total is known. On another output it prints a line at most
// every five seconds, and one at the end of each stage.
type Progress struct {
	w        io.Writer
	terminal bool
	stage    string
	began    time.Time // when the stage began
	shown    time.Time // when the last line was printed
	last     string    // what End prints: on a terminal a newline, else the newest line if it is not printed yet
}

// NewProgress returns a progress that is shown on w.
func NewProgress(w io.Writer) *Progress { return &Progress{w: w, terminal: IsTerminal(w)} }

// barWidth is the width of the bar in characters.
const barWidth = 30

// Show updates the progress: done of total steps of the stage. total is 0 if it is
// unknown. If done exceeds total, total is taken as done.
func (p *Progress) Show(stage string, done, total int) {
	now := time.Now()
	if total > 0 {
		total = max(total, done)
	}
	if stage != p.stage {
		p.End()
		p.stage, p.began, p.shown = stage, now, now
	}
	rate := float64(done) / max(now.Sub(p.began).Seconds(), 0.001)
	line := fmt.Sprintf("%s: %s", stage, Thousands(done))
	if total > 0 {
		line += " of " + Thousands(total)
	}
	switch pause := now.Sub(p.shown); {
	case p.terminal && (pause > 100*time.Millisecond || done == total):
		if total > 0 {
			full := barWidth * done / total
			line = fmt.Sprintf("[%s%s] %s, %s/s, %s left", strings.Repeat("█", full), strings.Repeat("·", barWidth-full), line,
				Thousands(int(rate)),
				(time.Duration(float64(total-done) / max(rate, 0.001) * float64(time.Second))).Round(time.Second))
		}
		fmt.Fprintf(p.w, "\r\x1b[K%s", line)
		p.shown, p.last = now, "\n"
	case p.terminal:
	case pause > 5*time.Second:
		fmt.Fprintf(p.w, "%s (%s/s)\n", line, Thousands(int(rate)))
		p.shown, p.last = now, ""
	default:
		p.last = line + "\n"
	}
}

// End prints what is left of the output of the stage, such as a newline after the bar.
func (p *Progress) End() {
	fmt.Fprint(p.w, p.last)
	p.last, p.stage = "", ""
}

// Thousands formats 1234567 as 1,234,567.
var Thousands = plaintext.Thousands
