package clients

import (
	"context"
	"net/http"
	"sync"
	"time"

	"svc/pkg/base/outbound"
)

// documents caches clients' metadata documents. It also has the transport and the slots
// for all fetches of documents and key sets.
type documents struct {
	transport http.RoundTripper
	turns     chan struct{} // the slots; a fetch in progress has one

	mu    sync.Mutex
	byID  map[string]Client
	under map[string]chan struct{} // fetches in progress; each channel is closed when its fetch ends
	tried map[string]time.Time     // last attempt that failed or was forced, of stored clients only
}

// newDocuments returns an empty cache. A nil transport means outbound.Public.
func newDocuments(transport http.RoundTripper) *documents {
	if transport == nil {
		transport = outbound.Public()
	}
	return &documents{transport: transport, turns: make(chan struct{}, documentsAtOnce), byID: map[string]Client{},
		under: map[string]chan struct{}{}, tried: map[string]time.Time{}}
}

// get returns the cached client. It returns false if no client is cached, or if the client
// is no longer fresh or was fetched before since.
func (d *documents) get(id string, now, since time.Time) (Client, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, ok := d.byID[id]
	return c, ok && now.Before(c.DocumentUntil) && !c.FetchedAt.Before(since)
}

// triedRecently reports whether less than retryAfter has passed since the time
// that noteTry recorded for the document.
func (d *documents) triedRecently(id string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return now.Before(d.tried[id].Add(retryAfter))
}

// noteTry records the time of a fetch that failed, or of a forced fetch that is
// about to start. With the zero time, the next fetch need not wait. If there are
// mostDocuments records, noteTry discards all of them first.
func (d *documents) noteTry(id string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.tried) >= mostDocuments {
		clear(d.tried)
	}
	d.tried[id] = now
}

// put caches a document, unless the cache has one that was fetched later. If
// the cache is full, put evicts the document that expires first.
func (d *documents) put(c Client) {
	d.mu.Lock()
	defer d.mu.Unlock()
	was, had := d.byID[c.ID]
	if c.FetchedAt.Before(was.FetchedAt) {
		return
	}
	if !had && len(d.byID) >= mostDocuments {
		first := ""
		for id, one := range d.byID {
			if first == "" || one.DocumentUntil.Before(d.byID[first].DocumentUntil) {
				first = id
			}
		}
		delete(d.byID, first)
	}
	d.byID[c.ID] = c
}

// drop removes a document from the cache.
func (d *documents) drop(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.byID, id)
}

// alone waits until no other request of this process fetches the document (or
// key set) with this id, and a fetch slot is free. The caller must call done
// after its fetch. After documentWait, or when ctx ends, the error is a
// *fetchError.
func (d *documents) alone(ctx context.Context, id string) (done func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, documentWait)
	defer cancel()
	mine := make(chan struct{})
	for {
		d.mu.Lock()
		other, busy := d.under[id]
		if !busy {
			d.under[id] = mine
		}
		d.mu.Unlock()
		if !busy {
			break
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, &fetchError{ctx.Err()}
		}
	}
	free := func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.under, id)
		close(mine)
	}
	select {
	case d.turns <- struct{}{}:
		return func() { <-d.turns; free() }, nil
	case <-ctx.Done():
		free()
		return nil, &fetchError{ctx.Err()}
	}
}
