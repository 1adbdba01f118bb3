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

// texts finds posts by their folded texts, which are in the search rows of partition
// (textPartition). A process keeps up to maxBytes of texts in memory. Each search reads
// only the rows of the last two minutes (settled) and those added since the last search.
// If all texts fit into memory, that is one short query. Otherwise each search reads the
// texts that do not fit again. Therefore a search is complete for any number of posts, and
// the memory is bounded. A search may miss only a row whose range key has a time before the
// row was written (reload).
type texts struct {
	partition string
	maxBytes  int

	mu  sync.Mutex
	now *loadedTexts // the texts in memory, discarded when they are older than reload
}

// loadedTexts are the texts in memory. Until one search has read all rows, the
// other searches wait for it. After that, searches read new rows and add their
// texts concurrently.
type loadedTexts struct {
	at      time.Time
	loading chan struct{} // a semaphore: holds a value while a search reads all rows

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
	// settled is how long a row may still be missing in the table after the time in its
	// range key. It is longer than a request takes plus the clock skew.
	settled = 2 * time.Minute
	// reload is how long texts stay in memory. Demo data has rows that are written long
	// after the time in their range keys. Searches find such a row after reload at the
	// latest.
	reload = time.Hour
	// rowOverhead is the memory of a post without its texts, in bytes.
	rowOverhead = 200
)

// matching returns the ids of the posts whose texts contain each word of query, folded.
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

// current returns the texts in memory. If they are older than reload, it discards them and
// returns none: the search then reads all rows again.
func (x *texts) current(now time.Time) *loadedTexts {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.now == nil || now.Sub(x.now.at) > reload {
		x.now = &loadedTexts{at: now, loading: make(chan struct{}, 1), posts: map[string][]string{}}
	}
	return x.now
}

// update reads the search rows that are not in memory yet and adds their texts to l. It
// calls match for each row that does not fit into memory.
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

// add adds the texts of the rows to those in memory, unless they are there already. full
// says that an earlier row did not fit; then no further one is added. add calls match for
// each new row that it does not add, and returns the new value of full. l.from moves to the
// last row, but not past horizon, the range key of rows that were written settled ago. Past
// horizon, rows may still appear between those that were read.
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
		for i, text := range all { // an older build may have folded the text in another way
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

// folded returns the memory that a post's folded texts use, in bytes.
func folded(all []string) int {
	size := rowOverhead
	for _, text := range all {
		size += len(text)
	}
	return size
}

// textPosition returns the lowest range key of rows written at t or later.
func textPosition(t time.Time) string {
	const timeDigits = 10 // characters of a ULID that hold its time
	return ids.New(ids.Post, t)[:len(ids.Post+"_")+timeDigits]
}
