package feedback

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"svc/pkg/base/ids"
	"svc/pkg/base/plaintext"
	"svc/pkg/data/table"
)

// texts finds posts by their folded texts. A process keeps up to maxBytes of
// texts in memory. Each search reads only the rows of the last two minutes
// (settled) and those added since the last search. If all texts fit, this is one
// short query after the first search. Otherwise each search reads the other texts
// again. Therefore a search is complete for any number of posts, and the memory is
// bounded. Only a row with a time before its write may be missed (reload).
type texts struct {
	partition string
	maxBytes  int

	mu  sync.Mutex
	now *loadedTexts // replaced after reload
}

// loadedTexts are the texts in memory. Until one search has read all rows, the
// other searches wait for it. After that, searches read new rows and add their
// texts concurrently.
type loadedTexts struct {
	at      time.Time
	loading chan struct{} // holds a token while a search reads all rows

	mu     sync.RWMutex
	posts  map[string][]string // folded texts by post
	bytes  int
	from   string // all rows before this range key are in posts
	loaded bool   // a search has read all rows
}

const (
	// textMemory is the memory limit of one process for the texts of posts that
	// are not rejected, in bytes. Rejected posts get an eighth of it on top.
	// With the overhead of garbage collection, both stay well below the
	// function's 512 MB.
	textMemory = 96 << 20
	// settled is the age from which on all rows are in the table: no row with
	// an earlier time can still appear. It is longer than a request takes plus
	// the clock skew.
	settled = 2 * time.Minute
	// reload is how long texts stay in memory. If a row's time is earlier than
	// its write, as in demo data, searches find the row after reload at the
	// latest.
	reload = time.Hour
	// rowOverhead is the memory of a post without its texts, in bytes.
	rowOverhead = 200
)

// matching returns the posts whose texts contain each word of query, folded.
func (x *texts) matching(ctx context.Context, p table.Platform, now time.Time, query string) (map[string]bool, error) {
	words := strings.Fields(plaintext.Fold(query))
	found := map[string]bool{}
	match := func(post string, all []string) {
		for _, word := range words {
			if !slices.ContainsFunc(all, func(text string) bool { return strings.Contains(text, word) }) {
				return
			}
		}
		found[post] = true
	}
	l := x.current(now)
	if err := x.update(ctx, p, l, now, match); err != nil {
		return nil, err
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	for post, all := range l.posts {
		match(post, all)
	}
	return found, nil
}

// current returns the texts in memory. After reload it begins with an empty set.
func (x *texts) current(now time.Time) *loadedTexts {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.now == nil || now.Sub(x.now.at) > reload {
		x.now = &loadedTexts{at: now, loading: make(chan struct{}, 1), posts: map[string][]string{}}
	}
	return x.now
}

// update reads the rows added since the last update. It passes rows that do not
// fit into memory to match.
func (x *texts) update(
	ctx context.Context, p table.Platform, l *loadedTexts, now time.Time, match func(post string, all []string),
) error {
	from, loaded := l.start()
	if !loaded {
		select {
		case l.loading <- struct{}{}:
			defer func() { <-l.loading }()
		case <-ctx.Done():
			return ctx.Err()
		}
		from, _ = l.start()
	}
	horizon := textPosition(now.Add(-settled))
	full := false
	for rows, err := range p.Pages(ctx, x.partition, table.Query{From: from, Limit: table.Examined}) {
		if err != nil {
			return err
		}
		if full, err = l.add(rows, x.maxBytes, horizon, full, match); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loaded = true
	return nil
}

// start returns the range key from which a search reads, and whether an earlier
// search read all rows.
func (l *loadedTexts) start() (from string, loaded bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.from, l.loaded
}

// add stores the rows that are not stored yet. It passes the rows that do not
// fit to match, and returns true from the first of them on.
func (l *loadedTexts) add(rows []table.Item, maxBytes int, horizon string, full bool,
	match func(post string, all []string)) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, row := range rows {
		post := postOfText(row)
		if l.posts[post] != nil {
			continue
		}
		var all []string
		if err := row.Decode(&all); err != nil {
			return full, err
		}
		for i, text := range all { // an older build may have folded it in another way
			all[i] = plaintext.Fold(text)
		}
		if size := folded(all); !full && l.bytes+size <= maxBytes {
			l.posts[post], l.bytes = all, l.bytes+size
			continue
		}
		full = true
		match(post, all)
	}
	if n := len(rows); n > 0 && !full {
		l.from = max(l.from, min(rows[n-1].SK, horizon))
	}
	return full, nil
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
