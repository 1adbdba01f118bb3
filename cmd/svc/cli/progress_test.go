package cli

import (
	"bytes"
	"strings"
	"testing"
)

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	p := NewProgress(&out)
	for i := range 3 {
		p.Show("trips", 1000*(i+1), 3000)
	}
	p.Show("wallets", 12, 0)
	p.End()
	if want := "trips: 3,000 of 3,000\nwallets: 12\n"; out.String() != want {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	p.terminal = true
	p.Show("trips", 1500, 3000)
	p.Show("trips", 3000, 3000)
	p.End()
	if !strings.Contains(out.String(), "["+strings.Repeat("█", barWidth)+"] trips: 3,000 of 3,000") {
		t.Errorf("%q", out.String())
	}
}
