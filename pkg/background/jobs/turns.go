package jobs

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"svc/pkg/background/erasure"
	"svc/pkg/base/ids"
	"svc/pkg/base/panics"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
	"svc/pkg/domain/export"
	"svc/pkg/domain/imports"
)

const (
	// tenantsAtOnce is of how many tenants jobs run at the same time.
	tenantsAtOnce = 4
	// listEach is how long Run works by the same list of open jobs, as long as that has
	// some to begin.
	listEach = time.Second
)

// turns is the state of one Run.
type turns struct {
	Runner
	open   []string        // the open jobs: tenant#id
	given  map[string]bool // up until the next Run
	busy   map[string]bool // tenants with a slice under way
	served map[string]int  // when a tenant or a job had its last turn; 0 for never
	turn   int
	ended  chan slice
	failed error
}

// slice is the result of a slice.
type slice struct {
	job  string
	more bool
	err  error
}

// Run works on the open jobs until none is left or the budget is used up. Each turn is
// one slice. The next turn is that of the tenant whose last one is longest ago, and of
// this tenant's jobs the one whose last turn is. Some tenants have a slice under way at
// the same time, each at most one. A job that fails with an error is tried again by the
// next Run. One that panics would panic again, so it ends.
func (r Runner) Run(ctx context.Context) error {
	budget := r.Budget
	if budget == 0 {
		budget = 4 * time.Minute
	}
	s := turns{Runner: r, given: map[string]bool{}, busy: map[string]bool{}, served: map[string]int{},
		ended: make(chan slice)}
	began, listed := time.Now(), time.Time{}
	for {
		if time.Since(listed) > listEach || s.next() == "" {
			if err := s.list(ctx); err != nil {
				s.failed = errors.Join(s.failed, err)
				budget = 0
			}
			listed = time.Now()
		}
		for len(s.busy) < tenantsAtOnce && time.Since(began) <= budget && ctx.Err() == nil {
			job := s.next()
			if job == "" {
				break
			}
			s.begin(ctx, job)
		}
		if len(s.busy) == 0 {
			return s.failed
		}
		select {
		case of := <-s.ended:
			s.end(ctx, of)
		case <-time.After(listEach): // another tenant may have begun a job
		}
	}
}

func (s *turns) list(ctx context.Context) error {
	s.open = s.open[:0]
	for items, err := range s.platform().Pages(ctx, s.platform().Partition(due.Jobs), table.Query{Limit: 100}) {
		if err != nil {
			return err
		}
		for _, it := range items {
			s.open = append(s.open, it.SK)
		}
	}
	return nil
}

func tenantOf(job string) string {
	tenant, _, _ := strings.Cut(job, "#")
	return tenant
}

// next returns the job whose turn it is, "" if none may begin now.
func (s *turns) next() string {
	may := slices.DeleteFunc(slices.Clone(s.open), func(job string) bool { return s.given[job] || s.busy[tenantOf(job)] })
	if len(may) == 0 {
		return ""
	}
	return slices.MinFunc(may, func(a, b string) int {
		if first := s.served[tenantOf(a)] - s.served[tenantOf(b)]; first != 0 {
			return first
		}
		return s.served[a] - s.served[b]
	})
}

func (s *turns) begin(ctx context.Context, job string) {
	s.turn++
	s.busy[tenantOf(job)], s.served[tenantOf(job)], s.served[job] = true, s.turn, s.turn
	go func() {
		out := slice{job: job}
		out.err = panics.Try(func() (err error) {
			out.more, err = s.runSlice(ctx, job)
			return err
		})
		if panics.Panicked(out.err) {
			out.err = errors.Join(out.err, s.giveUp(ctx, job))
		}
		s.ended <- out
	}()
}

func (s *turns) end(ctx context.Context, of slice) {
	delete(s.busy, tenantOf(of.job))
	s.given[of.job] = of.err != nil || !of.more
	if of.err != nil {
		slog.ErrorContext(ctx, "job", "job", of.job, "error", of.err)
		s.failed = errors.Join(s.failed, of.err)
	}
}

// stopped says to the company why a job ended that panicked.
const stopped = "The service failed at this job, and logged why. What was done so far stays."

// giveUp ends a job whose slice has panicked. If that panics too, the job leaves the
// list.
func (r Runner) giveUp(ctx context.Context, job string) error {
	_, id, _ := strings.Cut(job, "#")
	t := r.DB.Tenant(tenantOf(job))
	err := panics.Try(func() error {
		switch {
		case strings.HasPrefix(id, ids.Import):
			rec, err := r.readImport(ctx, t, id)
			if err != nil || !isOpen(rec) {
				return err
			}
			why := stopped
			if rec.Done() {
				return taken(r.refuse(ctx, t, &rec, why))
			}
			rec.Status, rec.Lease, rec.Error = imports.Failed, "", &why
			return taken(r.saveProgress(ctx, t, &rec))
		case erasure.Mine(id):
			return r.Persons.GiveUp(ctx, t, id)
		}
		rec, err := r.read(ctx, t, id)
		if err != nil || rec.Done() {
			return err
		}
		rec.Status = export.Failed
		return r.fail(ctx, t, rec, stopped)
	})
	if panics.Panicked(err) {
		err = errors.Join(err, r.unlist(ctx, t, id))
	}
	return err
}
