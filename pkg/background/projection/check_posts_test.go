package projection_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/background/projection"
	"svc/pkg/background/reconcile"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/feedback"
)

// board is a roadmap whose rows the projection has written.
type board struct {
	t     *testing.T
	p     table.Platform
	posts []feedback.Post
	voter int
	busy  bool // others change the items, so a check waits between two looks
}

func newBoard(t *testing.T) *board {
	b := &board{t: t, p: testkit.Open(t, testkit.Name(t, streamOff), nil).Platform(feedback.Kinds...)}
	for i := range 6 {
		at := timestamp.Format(start.Add(time.Duration(i) * time.Minute))
		p := feedback.Post{ID: fmt.Sprint("pst_", i), Slug: fmt.Sprint("post-", i), Type: []string{feedback.Idea,
			feedback.Bug}[i%2], Status: feedback.Statuses[i%3], Category: []string{"", "dispatch"}[i/3], Title: "Post",
			CreatedAt: at, UpdatedAt: at, Author: "per_1", Tenant: "ten_1", Version: 1}
		testkit.Must(t, b.p.Load(t.Context(), feedback.Items(p, feedback.Texts{Body: "body"})...))
		b.posts = append(b.posts, p)
		b.project(t.Context(), i)
		b.vote(t.Context(), i, i)
		b.comment(t.Context(), i)
		b.project(t.Context(), i)
	}
	return b
}

// add writes a vote or comment of a post and increments the post's counter, as
// the API does.
func (b *board) add(ctx context.Context, i int, counter string, it table.Item) {
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := b.p.Write()
		tx.Create(it)
		tx.Update(feedback.Key(b.posts[i].ID), table.Change{Add: map[string]any{counter: 1, "version": 1}}).
			If("attribute_exists(pk)")
		return tx.Commit(ctx)
	})
	if err != nil {
		b.t.Error(err)
	}
}

func (b *board) vote(ctx context.Context, i, votes int) {
	for range votes {
		b.voter++
		b.add(ctx, i, "voteCount", feedback.VoteItem(b.posts[i].ID, fmt.Sprint("per_", b.voter), timestamp.Format(start)))
	}
}

func (b *board) comment(ctx context.Context, i int) {
	b.voter++
	b.add(ctx, i, "commentCount", feedback.CommentItem(b.posts[i].ID, fmt.Sprint("com_", b.voter), "per_1", "ten_1", "c",
		timestamp.Format(start)))
}

func (b *board) step() projection.Step {
	return projection.Step{Now: func() time.Time { return start }, RankRows: feedback.RankRows}
}

func (b *board) project(ctx context.Context, i int) {
	if _, err := b.step().Platform(ctx, b.p, []table.Key{feedback.Key(b.posts[i].ID)}); err != nil {
		b.t.Error(err)
	}
}

func (b *board) checked(correct bool) (found []reconcile.Difference) {
	b.t.Helper()
	check := &projection.Check{Step: b.step(), PostCounts: feedback.Counts, PostRanks: feedback.RankPartitions,
		Run: &reconcile.Run{Correct: correct, Found: func(d reconcile.Difference) { found = append(found, d) }}}
	if !b.busy {
		check.Wait = noWait
	}
	testkit.Must(b.t, check.Posts(b.t.Context(), b.p, feedback.AllPartition))
	return found
}

func (b *board) write(do func(*table.Tx)) {
	b.t.Helper()
	tx := b.p.Write()
	do(tx)
	testkit.Must(b.t, tx.Commit(b.t.Context()))
}

// rank returns the first of a post's rank rows.
func (b *board) rank(i int) table.Item {
	b.t.Helper()
	it, err := b.p.Get(b.t.Context(), feedback.Key(b.posts[i].ID))
	testkit.Must(b.t, err)
	return feedback.RankRows(it)[0]
}

// set changes attributes of a post, but not its votes and comments.
func (b *board) set(i int, attributes map[string]any) {
	b.t.Helper()
	b.write(func(tx *table.Tx) { tx.Update(feedback.Key(b.posts[i].ID), table.Change{Set: attributes}) })
}

// roadmapDamages are the ways in which derived data of the roadmap can be wrong.
var roadmapDamages = map[string]struct {
	what string
	do   func(*board)
}{
	"votes":    {"counter", func(b *board) { b.set(2, map[string]any{"voteCount": 13625}) }},
	"no votes": {"counter", func(b *board) { b.set(2, map[string]any{"voteCount": nil}) }},
	"comments": {"counter", func(b *board) { b.set(4, map[string]any{"commentCount": 0}) }},
	"a vote lost": {"counter", func(b *board) {
		b.write(func(tx *table.Tx) { tx.Delete(feedback.VoteKey("pst_1", "per_2")) })
	}},
	"a rank row lost": {"row", func(b *board) {
		row := b.rank(3)
		b.write(func(tx *table.Tx) { tx.Delete(row.Key) })
	}},
	"a rank row of no post": {"row", func(b *board) {
		row := b.rank(3)
		row.SK, row.Attrs = row.SK+"x", map[string]any{"post": "pst_none"}
		b.write(func(tx *table.Tx) { tx.Put(row) })
	}},
	"an old rank row of a post": {"row", func(b *board) {
		row := b.rank(3)
		row.SK = "0000099999#" + row.SK
		b.write(func(tx *table.Tx) { tx.Put(row) })
	}},
	"a deleted post, and no stream": {"row", func(b *board) {
		b.write(func(tx *table.Tx) { tx.Delete(feedback.Key(b.posts[0].ID)) })
	}},
	"a deleted post and its record": {"row", func(b *board) {
		key := feedback.Key(b.posts[5].ID)
		b.write(func(tx *table.Tx) { tx.Delete(key); tx.Delete(projection.CountedKey(key)) })
	}},
}

func TestCheckOfTheRoadmapFindsAndCorrectsDamage(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := newBoard(t)
	if found := b.checked(false); len(found) > 0 {
		t.Fatalf("before any damage: %+v", found)
	}
	for _, name := range slices.Sorted(maps.Keys(roadmapDamages)) {
		damage := roadmapDamages[name]
		t.Run(name, func(t *testing.T) {
			b.t = t
			damage.do(b)
			found := b.checked(false)
			if !slices.ContainsFunc(found, func(d reconcile.Difference) bool { return d.What == damage.what }) {
				t.Errorf("found %+v, want a %s", found, damage.what)
			}
			b.checked(true)
			if found := b.checked(false); len(found) > 0 {
				t.Fatalf("corrected: %+v", found)
			}
		})
	}
}

// While people vote and comment, a check reports no false difference, and
// corrects the real ones without losing a vote.
func TestCheckOfTheRoadmapWhilePeopleVote(t *testing.T) {
	b := newBoard(t)
	b.busy = true
	ctx, stop := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			began := time.Now()
			b.vote(t.Context(), i%6, 1)
			b.comment(t.Context(), (i+3)%6)
			b.project(t.Context(), i%6)
			b.project(t.Context(), (i+3)%6)
			testkit.Sleep(ctx, 15*time.Millisecond+10*time.Since(began)) // leaves most processor time to the check
		}
	})
	if found := b.checked(false); len(found) > 0 {
		t.Errorf("without damage: %+v", found)
	}
	b.write(func(tx *table.Tx) {
		tx.Update(feedback.Key("pst_1"), table.Change{Add: map[string]any{"voteCount": 1280, "version": 1}})
		tx.Update(feedback.Key("pst_2"), table.Change{Add: map[string]any{"commentCount": -3, "version": 1}})
	})
	if found := b.checked(true); len(found) < 2 || found[0].What != "counter" {
		t.Errorf("with damage: %+v", found)
	}
	stop()
	wait.Wait()
	if found := b.checked(false); len(found) > 0 {
		t.Errorf("corrected: %+v", found)
	}
}

// After a change of a post, a step writes only the rank rows that moved.
func TestRowsThatStayAreNotWritten(t *testing.T) {
	b := newBoard(t)
	for _, tt := range []struct {
		what   string
		do     func(context.Context)
		writes float64 // in units, two for each item
	}{
		{"nothing", func(context.Context) {}, 0},
		{"a vote", func(ctx context.Context) { b.vote(ctx, 0, 1) }, 2 * (2 + 2 + 1)}, // rows put, rows deleted, COUNTED
		{"a comment", func(ctx context.Context) { b.comment(ctx, 0) }, 2 * (2 + 2 + 1)},
	} {
		tt.do(t.Context())
		ctx, meter := table.Metered(t.Context())
		b.project(ctx, 0)
		if got := testkit.WriteUnits(meter.Usage()); got > tt.writes {
			t.Errorf("%s: %v write units, want %v", tt.what, got, tt.writes)
		}
	}
	if found := b.checked(false); len(found) > 0 {
		t.Errorf("differences: %v", found)
	}
}
