package testkit

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	"svc/pkg/data/table"
)

// Older simulates a batch read that is no snapshot: it may find one item as it was before
// a change, and another as it is after. Older remembers items as they were, and serves
// one of them to a later batch read.
type Older struct {
	mu     sync.Mutex
	items  map[table.Key]json.RawMessage
	key    table.Key // of the item that the next batch read finds as it was
	served bool
	armed  bool
}

// Older remembers the items that read reads in batches.
func (w *Wire) Older(read func()) *Older {
	o := &Older{items: map[table.Key]json.RawMessage{}}
	w.set(func() { w.older = o })
	read()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.armed = true
	return o
}

// Serve makes the next batch read that asks for the key find the remembered item.
func (o *Older) Serve(key table.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.key, o.served = key, false
}

// Served ends Serve, and reports whether a batch read has found the older item.
func (o *Older) Served() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.key = table.Key{}
	return o.served
}

// stored is the key of an item in the table's own form.
type stored struct {
	PK struct{ S string } `json:"pk"`
	SK struct{ S string } `json:"sk"`
}

// keyIn returns the key of an item in the table's JSON form.
func keyIn(text json.RawMessage) (table.Key, error) {
	var s stored
	err := json.Unmarshal(text, &s)
	return table.Key{PK: s.PK.S, SK: s.SK.S}, err
}

// roundTrip sends a request, and changes the response to a batch read.
func (o *Older) roundTrip(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	if o == nil || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".BatchGetItem") {
		return next.RoundTrip(r)
	}
	asked, err := Body(&r.Body)
	if err != nil {
		return nil, err
	}
	res, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := Body(&res.Body)
	if err == nil && res.StatusCode == http.StatusOK {
		body, err = o.tear(asked, body)
	}
	if err != nil {
		return nil, err
	}
	res.Header.Del("X-Amz-Crc32")
	res.Header.Del("Content-Length")
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return res, nil
}

// tear replaces one item in the response to a batch read by the remembered item.
func (o *Older) tear(asked, body []byte) ([]byte, error) {
	var request struct {
		RequestItems map[string]struct{ Keys []json.RawMessage }
	}
	var rest map[string]json.RawMessage
	var found map[string][]json.RawMessage
	for _, step := range []struct {
		text []byte
		into any
	}{{asked, &request}, {body, &rest}} {
		if err := json.Unmarshal(step.text, step.into); err != nil {
			return nil, err
		}
	}
	if err := json.Unmarshal(rest["Responses"], &found); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, part := range request.RequestItems {
		items := []json.RawMessage{}
		for _, it := range found[name] {
			key, err := keyIn(it)
			if err != nil {
				return nil, err
			}
			if !o.armed {
				o.items[key] = it
			}
			if !o.armed || key != o.key {
				items = append(items, it)
			}
		}
		for _, one := range part.Keys {
			if key, err := keyIn(one); err != nil || !o.armed || key != o.key {
				continue
			}
			if it, ok := o.items[o.key]; ok {
				items = append(items, it)
			}
			o.key, o.served = table.Key{}, true
		}
		found[name] = items
	}
	var err error
	if rest["Responses"], err = json.Marshal(found); err != nil {
		return nil, err
	}
	return json.Marshal(rest)
}
