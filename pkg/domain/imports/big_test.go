package imports_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/data/audit"
	"svc/pkg/domain/imports"
)

// rows is a file of rows that is never in memory as a whole. It measures how much
// memory is in use while it is read.
type rows struct {
	n, most int
	row     func(int) string
	rest    string
	live    uint64 // the most bytes that were in use
}

func (r *rows) Read(p []byte) (int, error) {
	if r.rest == "" {
		if r.n > r.most {
			return 0, io.EOF
		}
		if r.n%20_000 == 0 {
			r.live = max(r.live, live())
		}
		r.rest = r.row(r.n)
		r.n++
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (*rows) Close() error { return nil }

func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestFileOf50MB: the largest file is read to its end, and needs little memory,
// whatever its form.
func TestFileOf50MB(t *testing.T) {
	testkit.Long(t)
	pad := strings.Repeat("x", 440)
	for format, row := range map[string]func(int) string{
		"csv": func(n int) string {
			if n == 0 {
				return "email;name;remark\r\n"
			}
			return fmt.Sprintf("p%06d@metro.example;Person %06d;%s\r\n", n, n, pad)
		},
		"ndjson": func(n int) string {
			if n == 0 {
				return ""
			}
			return fmt.Sprintf(`{"email": "p%06d@metro.example", "name": "Person %06d", "remark": "%s"}`+"\n", n, n, pad[:400])
		},
	} {
		t.Run(format, func(t *testing.T) {
			job, err := imports.New(imports.Options{Kind: "customers", Format: format}, time.Now())
			testkit.Must(t, err)
			if size := len(row(1)) * imports.MaxRows; size < 45_000_000 || size > imports.MaxBytes {
				t.Fatalf("the file has %d bytes", size)
			}
			before := live()
			in, opened := &rows{most: imports.MaxRows, row: row}, 0
			_, n, faults, err := job.Check(imports.Target{By: audit.By{At: time.Now()}}, func(int64) (io.ReadCloser, error) {
				if opened++; opened == 1 { // the beginning
					return io.NopCloser(strings.NewReader(row(0) + row(1))), nil
				}
				in.n = 1
				return in, nil
			}, func(imports.Row, imports.Fault) error { return nil })
			if err != nil || n != imports.MaxRows || faults != 0 {
				t.Errorf("%d rows, %d faults, %v", n, faults, err)
			}
			if used := int64(in.live) - int64(before); used > 24<<20 {
				t.Errorf("%d bytes are in use", used)
			}
		})
	}
}
