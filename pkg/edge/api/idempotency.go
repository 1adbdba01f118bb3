package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"svc/pkg/base/codec"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
)

const idempotencyKey = "Idempotency-Key"

// errKeyUsed reports that another request used the Idempotency-Key first.
var errKeyUsed = errors.New("another request used the idempotency key first")

// retention is how long the response for an Idempotency-Key is stored.
const retention = 24 * time.Hour

// idempotencyPattern matches 1 to 255 visible characters. It accepts a comma
// only if the whole value is in double quotes (RFC 8941 section 3.3.3), because
// the gateway joins two headers with a comma.
const idempotencyPattern = `^([!-+\--~]{1,255}|"[!#-~]{0,253}")$`

var idempotencySyntax = regexp.MustCompile(idempotencyPattern)

// readKey reads the Idempotency-Key of a POST, or of a call that a person
// confirmed, into x.key. Errors: a 400 for a malformed key.
func (x *exchange) readKey() error {
	values := x.r.Header.Values(idempotencyKey)
	if x.row.Method != http.MethodPost && !x.entry.Confirmed || len(values) == 0 {
		return nil
	}
	if len(values) > 1 || !idempotencySyntax.MatchString(values[0]) {
		return fault.Field("header.Idempotency-Key",
			"expected one header of 1 to 255 visible characters; a value with a comma must be in double quotes")
	}
	x.key = values[0]
	return nil
}

// AnswersOf returns the partition with the stored responses to an actor, so that an
// erasure finds them.
func AnswersOf(t table.Tenant, actor string) string { return t.Partition("IDEMPOTENCY", actor) }

// AnswerKey returns the table's key of a stored response. It contains a hash of the
// Idempotency-Key, because a caller may choose a key with personal data.
func AnswerKey(t table.Tenant, actor, key string) table.Key {
	return table.Key{PK: AnswersOf(t, actor), SK: ids.Hash(key)}
}

// recordKey returns the key of the stored response to this request.
func (x *exchange) recordKey() table.Key {
	return AnswerKey(x.caller.Tenant, x.caller.Actor.Subject, x.key)
}

// earlierKey returns the key under which version 1.1.0 stored the response.
func (x *exchange) earlierKey() table.Key {
	name := x.key
	if strings.Contains(name, "#") {
		name = "sha256:" + ids.Hash(name)
	}
	return x.caller.Tenant.Key("IDEMPOTENCY", x.caller.Actor.Subject, name, "IDEMPOTENCY")
}

// ForgetAnswer replaces a stored response that has a person's data by an error. A
// repeated request gets that 409, so its change is not made again.
func ForgetAnswer(tx *table.Tx, it table.Item) error {
	f := fault.InvalidState("The response to this request was erased with the person of whom it told. The request was " +
		"carried out.")
	body, err := errorBody(f)
	if err == nil {
		tx.Update(it.Key, table.Change{Set: map[string]any{"status": f.Status(), "body": string(body), "etag": nil,
			"client": nil, "sealed": nil}}).
			If("'fingerprint' = ?", it.Text("fingerprint")).Else(table.ErrConflict)
	}
	return err
}

var _ = table.Kind[any]{Type: "idempotency", Personal: "responses to requests with an `Idempotency-Key`",
	Erasure: "deletes; an error replaces those to others", Once: "the answer to one request"}

// keep adds the record of the response to the transaction. An expired record that is
// not yet deleted counts as absent. Older and newer builds read the record too, so its
// key and the attributes fingerprint, status and body must stay as they are.
func (x *exchange) keep(tx *table.Tx, status int, body []byte) {
	life := cmp.Or(x.entry.KeyLife, retention)
	record := table.Item{Key: x.recordKey(), Type: "idempotency", Layout: fingerprintForm,
		Expires: x.caller.Now.Add(life),
		Attrs: map[string]any{"fingerprint": x.fingerprint(), "status": status, "body": string(body),
			"etag": nil, "client": nil, "sealed": nil}}
	if x.tag != "" && status < http.StatusMultipleChoices {
		record.Attrs["etag"] = x.tag
	}
	if x.sealed != nil && status < http.StatusMultipleChoices {
		record.Attrs["client"] = x.caller.Actor.ClientID
		record.Attrs["sealed"] = base64.StdEncoding.EncodeToString(x.sealed)
	}
	tx.Put(record).If("attribute_not_exists(pk) OR 'expiresAt' <= ?", x.caller.Now.Unix()).Else(errKeyUsed)
}

// sealName names a secret for the key service. It binds the sealed secret to the
// record, the operation and the client.
func (x *exchange) sealName() string {
	key := x.recordKey()
	return strings.Join([]string{"answer", key.PK, key.SK, x.row.ID, x.caller.Actor.ClientID}, "/")
}

// sealSecret encrypts a secret for the record of the response. It returns
// fault.Unavailable if the key service fails.
func (x *exchange) sealSecret(ctx context.Context, secret string) ([]byte, error) {
	if x.server.Answers == nil {
		return nil, errors.New("this process cannot seal secrets of responses: it has no key")
	}
	sealed, err := x.server.Answers.Seal(ctx, x.sealName(), []byte(secret))
	if err != nil { // the key service is down or denies access: nothing was changed
		return nil, fault.Unavailable(err)
	}
	return sealed, nil
}

// withSecret returns the body of a stored response. It adds the response's secret,
// decrypted, if the client is the one that made the request, but never for an agent.
func (x *exchange) withSecret(ctx context.Context, it table.Item) ([]byte, error) {
	body, sealed := []byte(it.Text("body")), it.Text("sealed")
	if sealed == "" || it.Text("client") != x.caller.Actor.ClientID || x.agent || x.caller.Agent() {
		return body, nil
	}
	if x.server.Answers == nil {
		return nil, errors.New("this process cannot open secrets of responses: it has no key")
	}
	raw, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return nil, fmt.Errorf("sealed secret of a stored response: %w", err)
	}
	secret, err := x.server.Answers.Open(ctx, x.sealName(), raw)
	if err != nil {
		return nil, fault.Unavailable(err)
	}
	member, err := codec.Marshal(string(secret))
	if err != nil {
		return nil, err
	}
	return append(append(append(bytes.TrimSuffix(body, []byte("}")), `,"secret":`...), member...), '}'), nil
}

// replay sends the stored response. It returns false if no response is stored
// or the stored one has expired, and an error if a different request used the
// key.
func (x *exchange) replay(ctx context.Context, it table.Item) (bool, error) {
	if !it.Live(x.caller.Now) {
		return false, nil
	}
	if same, err := x.repeats(it); err != nil {
		return false, err
	} else if !same {
		return false, &fault.Error{Kind: fault.KindMismatch, Message: "This Idempotency-Key was used for another request."}
	}
	body, err := x.withSecret(ctx, it)
	if err != nil {
		return false, err
	}
	x.header.Set("Idempotent-Replayed", "true")
	x.tag = it.Text("etag")
	x.sendTag()
	x.send(int(it.Int("status")), body)
	return true, nil
}

// keepAnswer stores the response to a confirmed call that changed nothing. This
// uses up the person's confirmation. Otherwise the same confirmation could
// allow a change later.
func (x *exchange) keepAnswer(ctx context.Context) error {
	body, err := codec.Marshal(x.answer)
	if err != nil {
		return fmt.Errorf("response to store: %w", err)
	}
	tx := x.caller.Tenant.Write()
	x.keep(tx, x.row.Status, body)
	if err := table.Retry(ctx, tx.Commit); err != nil && !errors.Is(err, errKeyUsed) {
		return err
	}
	return nil // with errKeyUsed, another request has used up the confirmation
}

// keepFault stores a 404 or 409, so that a repeated request gets the same
// response. It returns any other fault, and every fault of a request without a
// key, without storing it. If another request used the key first, keepFault
// sends the response that is stored for the key. It returns a 422 if that
// request was a different one, and a 503 if no response is stored.
func (x *exchange) keepFault(ctx context.Context, f *fault.Error) error {
	if x.key == "" {
		return f
	}
	used := errors.Is(f.Cause, errKeyUsed)
	if !used {
		switch f.Status() {
		case http.StatusNotFound, http.StatusConflict:
		default:
			return f
		}
		body, err := errorBody(f)
		if err != nil {
			return err
		}
		tx := x.caller.Tenant.Write()
		x.keep(tx, f.Status(), body)
		if err := table.Retry(ctx, tx.Commit); err == nil {
			return f
		} else if !errors.Is(err, errKeyUsed) {
			return err
		}
	}
	it, err := x.caller.Tenant.Get(ctx, x.recordKey())
	if err != nil {
		return err
	}
	if done, err := x.replay(ctx, it); done || err != nil {
		return err
	}
	return fault.Unavailable(errKeyUsed)
}
