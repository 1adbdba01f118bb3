package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	"svc/pkg/fault"
	"svc/pkg/table"
)

const idempotencyKey = "Idempotency-Key"

// errTaken is a request whose key another one has used first.
var errTaken = errors.New("the idempotency key is taken")

// kept is how long an answer can be had again by its key.
const kept = 24 * time.Hour

// readKey takes the Idempotency-Key of a POST: 1 to 255 visible characters.
func (x *exchange) readKey() error {
	values := x.r.Header.Values(idempotencyKey)
	if x.row.Method != http.MethodPost || len(values) == 0 {
		return nil
	}
	key := values[0]
	bad := len(values) > 1 || len(key) < 1 || len(key) > 255
	for i := 0; i < len(key); i++ {
		bad = bad || key[i] <= ' ' || key[i] > '~'
	}
	if bad {
		return fault.Field("header.Idempotency-Key", "expected 1 to 255 visible characters, once")
	}
	x.key = key
	return nil
}

func (x *exchange) recordKey() table.Key {
	return x.caller.Tenant.Key("IDEMPOTENCY", "IDEMPOTENCY", x.caller.Actor.Subject, x.key)
}

// fingerprint tells one request from another under the same key.
func (x *exchange) fingerprint() string {
	h := sha256.New()
	for _, part := range []string{x.r.Method, x.r.URL.EscapedPath(), x.r.URL.RawQuery, string(x.body)} {
		sum := sha256.Sum256([]byte(part))
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// keep adds the answer's record to the transaction. A record that has expired
// but is not yet deleted counts as absent.
func (x *exchange) keep(tx *table.Tx, status int, body []byte) {
	record := table.Item{Key: x.recordKey(), Type: "idempotency", Expires: x.caller.Now.Add(kept),
		Attrs: map[string]any{"fingerprint": x.fingerprint(), "status": status, "body": string(body)}}
	tx.Put(record).If("attribute_not_exists(pk) OR 'expiresAt' <= ?", x.caller.Now.Unix()).Else(errTaken)
}

// replay answers with the record, if there is a live one.
func (x *exchange) replay(it table.Item) (bool, error) {
	if !it.Live(x.caller.Now) {
		return false, nil
	}
	if it.Text("fingerprint") != x.fingerprint() {
		return false, &fault.Error{Code: fault.CodeMismatch, Message: "This Idempotency-Key was used for another request."}
	}
	x.header.Set("Idempotent-Replayed", "true")
	x.send(int(it.Int("status")), []byte(it.Text("body")))
	return true, nil
}

// keepFault stores a fault that a repetition of the request is to get again.
// Where another request used the key first, its answer is given instead.
func (x *exchange) keepFault(ctx context.Context, f *fault.Error) error {
	if x.key == "" {
		return f
	}
	taken := errors.Is(f.Cause, errTaken)
	if !taken {
		switch f.Code {
		case fault.CodeInvalid, fault.CodeNotFound, fault.CodeState:
		default:
			return f
		}
		body, err := errorBody(f)
		if err != nil {
			return err
		}
		tx := x.caller.Tenant.Write()
		x.keep(tx, f.Status(), body)
		if err := tx.Commit(ctx); err == nil {
			return f
		} else if !errors.Is(err, errTaken) && !errors.Is(err, table.ErrConflict) {
			return err
		}
	}
	it, err := x.caller.Tenant.Get(ctx, x.recordKey())
	if err != nil {
		return err
	}
	if done, err := x.replay(it); done || err != nil {
		return err
	}
	return fault.Unavailable(errTaken)
}
