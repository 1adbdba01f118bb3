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
	// tenantsAtOnce is how many tenants have a slice under way at the same time.
	tenantsAtOnce = 4
	// listEach is how long Run uses the same list of open jobs. It reads the list
	// sooner if no job of it may begin.
	listEach = time.Second
)

// turns is the state of one Run: the open jobs, and whose turn it is.
type turns struct {
	Runner
	open   []string        // the open jobs: tenant#id
	given  map[string]bool // jobs that only the next Run continues
	busy   map[string]bool // tenants with a slice under way
	served map[string]int  // the number of the last turn of a tenant or a job; 0 for never
	turn   int
	ended  chan slice
	failed error
}

// slice is the result of one slice of a job.
type slice struct {
	job  string
	more bool
	err  error
}

// Run works on the open jobs until none is left or the budget is used up. Each turn is
// one slice. The next turn goes to the tenant that has waited longest, and to the job
// of this tenant that has waited longest. Up to tenantsAtOnce tenants have a slice
// under way, each at most one. A job that fails with an error is tried again by the
// next Run. A job that panics is ended, because it would panic again.
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
		case <-time.After(listEach): // read the list again: another tenant may have begun a job
		}
	}
}

// list reads the list of open jobs into s.open.
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

// tenantOf returns the tenant's id in the name of a job, tenant#id.
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

// begin starts a slice of the job. Its result goes to s.ended.
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

// end notes that a slice has ended, and with which result.
func (s *turns) end(ctx context.Context, of slice) {
	delete(s.busy, tenantOf(of.job))
	s.given[of.job] = of.err != nil || !of.more
	if of.err != nil {
		slog.ErrorContext(ctx, "job", "job", of.job, "error", of.err)
		s.failed = errors.Join(s.failed, of.err)
	}
}

// stopped is the error that the company sees of a job that panicked.
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
