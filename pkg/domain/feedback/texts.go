package feedback

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"svc/pkg/base/ids"
	"svc/pkg/base/search"
	"svc/pkg/data/table"
)

// texts finds posts by their folded texts. A process keeps the texts in memory
// and reads only the rows added since its last search. So a search is complete
// for any number of posts, and costs one short query after the texts are
// loaded.
//
// Texts that do not fit into maxBytes are read again by every search. So memory
// is bounded and no post is ever missed.
type texts struct {
	partition string
	maxBytes  int

	mu     sync.Mutex
	posts  map[string][]string // folded texts by post
	bytes  int
	from   string // all rows before this range key are in posts
	loaded time.Time
}

const (
	// textMemory is the memory limit for the texts of one process, in bytes.
	// Together with the overhead of garbage collection it stays well below the
	// function's 512 MB.
	textMemory = 96 << 20
	// settled is the age at which no older row can still appear. It is longer
	// than a request lasts plus the clock skew.
	settled = 2 * time.Minute
	// reload is how long texts stay in memory. A row whose time is earlier than
	// its write, as in demo data, is found after reload at the latest.
	reload = time.Hour
	// rowOverhead is the memory of a post without its texts, in bytes.
	rowOverhead = 200
)

// matching returns the posts whose texts contain query, folded.
func (x *texts) matching(ctx context.Context, p table.Platform, now time.Time, query string) (map[string]bool, error) {
	query = search.Fold(query)
	found := map[string]bool{}
	match := func(post string, all []string) {
		if slices.ContainsFunc(all, func(text string) bool { return strings.Contains(text, query) }) {
			found[post] = true
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.update(ctx, p, now, match); err != nil {
		return nil, err
	}
	for post, all := range x.posts {
		match(post, all)
	}
	return found, nil
}

// update reads the rows added since the last update. It passes rows that do not
// fit into memory to match.
func (x *texts) update(
	ctx context.Context, p table.Platform, now time.Time, match func(post string, all []string),
) error {
	if x.posts == nil || now.Sub(x.loaded) > reload {
		x.posts, x.bytes, x.from, x.loaded = map[string][]string{}, 0, "", now
	}
	horizon := textPosition(now.Add(-settled))
	full := false
	for after := ""; ; {
		page, err := p.Query(ctx, x.partition, table.Query{From: x.from, After: after, Limit: table.Examined})
		if err != nil {
			return err
		}
		for _, row := range page.Items {
			post := postOfText(row)
			if x.posts[post] != nil {
				continue
			}
			var all []string
			if err := row.Decode(&all); err != nil {
				return err
			}
			if full = full || !x.keep(post, all); full {
				match(post, all)
			}
		}
		if n := len(page.Items); n > 0 && !full {
			x.from = max(x.from, min(page.Items[n-1].SK, horizon))
		}
		if !page.More {
			return nil
		}
		after = page.Last
	}
}

// keep stores a post's texts in memory. It returns false if they do not fit.
func (x *texts) keep(post string, all []string) bool {
	size := folded(all)
	if x.bytes+size > x.maxBytes {
		return false
	}
	x.posts[post], x.bytes = all, x.bytes+size
	return true
}

// folded returns the memory that a post's texts use, in bytes.
func folded(all []string) int {
	size := rowOverhead
	for _, text := range all {
		size += len(text)
	}
	return size
}

// textPosition returns the lowest range key of rows written at t or later.
func textPosition(t time.Time) string {
	const timeDigits = 10 // of a ULID
	return ids.New(ids.Post, t)[:len(ids.Post+"_")+timeDigits]
}
