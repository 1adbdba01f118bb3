package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"svc/pkg/authz"
	"svc/pkg/fault"
	"svc/pkg/signing"
	"svc/pkg/table"
)

// MaxBody is the largest body taken, in bytes.
const MaxBody = 64 << 10

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange { return ctx.Value(exchangeKey{}).(*exchange) }

// exchange is one request on its way through the pipeline.
type exchange struct {
	server *Server
	r      *http.Request
	header http.Header // of the answer
	now    time.Time
	row    *operation
	caller *Caller
	body   []byte
	key    string         // Idempotency-Key, "" for none
	faults []fault.Detail // of the request, found before or by huma

	handled bool
	answer  any
	err     error

	status  int
	payload []byte
}

// serve does everything up to the answer, which is then in status and payload.
func (x *exchange) serve(ctx context.Context) error {
	row, err := x.server.router.find(x.r)
	if err != nil {
		return err
	}
	x.row = row
	if err := x.identify(ctx); err != nil {
		return err
	}
	if err := x.server.buckets.admit(x.server.Rates, x.caller.Actor, x.now); err != nil {
		return err
	}
	tooLarge, err := x.readBody()
	if err != nil {
		return err
	}
	keyFault := x.readKey()
	x.read(ctx)
	if x.row.Method == http.MethodGet {
		return x.serveRead(ctx)
	}
	if err := x.judge(ctx); err != nil {
		return err
	}
	switch {
	case keyFault != nil:
		return keyFault
	case tooLarge:
		return &fault.Error{Code: fault.CodeTooLarge, Message: fmt.Sprintf("The body is larger than %d bytes.", MaxBody)}
	case len(x.body) > 0 && !jsonType(x.r.Header.Get("Content-Type")):
		return &fault.Error{Code: fault.CodeMediaType, Message: "The body must be application/json."}
	}
	return x.serveWrite(ctx)
}

// identify is check 1: a bearer token whose signature holds.
func (x *exchange) identify(ctx context.Context) error {
	values := x.r.Header.Values("Authorization")
	if len(values) == 0 {
		return fault.Unauthorized("The request needs an access token.", false)
	}
	scheme, raw, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || raw == "" {
		return fault.Unauthorized("The request needs an access token.", false)
	}
	actor, err := x.server.Verifier.Verify(ctx, strings.TrimSpace(raw))
	if errors.Is(err, signing.ErrToken) {
		return fault.Unauthorized("The token is not valid.", true)
	}
	if err != nil { // the keys could not be read: nothing is known of the token
		return fmt.Errorf("verifying a token: %w", err)
	}
	x.caller = &Caller{Actor: actor, Audience: authz.Audience(actor.Audience), Tenant: x.server.DB.Tenant(actor.TenantID),
		Platform: x.server.posts, Now: x.now, x: x, live: &reading{done: make(chan struct{})}}
	return nil
}

func (x *exchange) readBody() (tooLarge bool, err error) {
	if x.row.Method == http.MethodGet || x.r.Body == nil {
		return false, nil
	}
	x.body, err = io.ReadAll(io.LimitReader(x.r.Body, MaxBody+1))
	if err != nil {
		return false, fault.Field("body", "could not be read")
	}
	if len(x.body) > MaxBody {
		x.body = nil
		return true, nil
	}
	return false, nil
}

func jsonType(header string) bool {
	if header == "" {
		return true
	}
	kind, params, err := mime.ParseMediaType(header)
	charset := strings.ToLower(params["charset"])
	return err == nil && kind == "application/json" && (charset == "" || charset == "utf-8")
}

// read starts the one read of all that must be live and all that the row and
// the idempotency key need.
func (x *exchange) read(ctx context.Context) {
	c := x.caller
	keys := authz.LiveKeys(c.Tenant, x.server.clients, c.Actor)
	if x.row.needs != nil {
		keys = append(keys, x.row.needs(c.Tenant, Peek{x.r, c.Actor, x.body})...)
	}
	if x.key != "" {
		keys = append(keys, x.recordKey())
	}
	h := table.Join(c.Tenant.Handle, x.server.clients.Handle, x.server.posts.Handle)
	go func() {
		defer close(c.live.done)
		defer func() {
			if p := recover(); p != nil {
				c.live.err = fmt.Errorf("panic in the checks: %v", p)
			}
		}()
		c.live.items, c.live.err = h.Batch(ctx, keys...)
	}()
}

// judge waits for the read and makes checks 2 to 6.
func (x *exchange) judge(ctx context.Context) error {
	items, err := x.caller.live.wait(ctx)
	if err != nil {
		return err
	}
	if err := authz.Judge(x.row.Policy, x.caller.Actor, items, x.now); err != nil {
		return err
	}
	x.server.shards.put(x.caller.Tenant.ID(), authz.StateOf(items).ReadShards, x.now)
	return nil
}

// serveRead lets the handler run beside the checks; its answer is thrown away
// when one of them fails.
func (x *exchange) serveRead(ctx context.Context) error {
	hctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var handled error
	done := make(chan struct{})
	go func() {
		defer close(done)
		handled = x.handle(hctx)
	}()
	if err := x.judge(ctx); err != nil {
		cancel(err)
		<-done // its answer counts for nothing now
		return err
	}
	<-done
	if handled != nil {
		return handled
	}
	return x.finish()
}

// serveWrite starts the handler only now that every check has passed.
func (x *exchange) serveWrite(ctx context.Context) error {
	if x.key != "" {
		it, err := x.caller.Item(ctx, x.recordKey())
		if err != nil {
			return err
		}
		if done, err := x.replay(it); done || err != nil {
			return err
		}
	}
	if err := x.handle(ctx); err != nil {
		return x.keepFault(ctx, fault.Of(err))
	}
	return x.finish()
}

// handle binds and validates the input and runs the handler.
func (x *exchange) handle(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in %s: %v", x.row.ID, p)
		}
	}()
	x.inspect()
	r := x.r.WithContext(ctx)
	r.Body = io.NopCloser(bytes.NewReader(x.body))
	if x.row.op.RequestBody == nil || len(x.trimmed()) == 0 {
		r.Body = http.NoBody
	}
	r.Header = inputHeader
	var sink discard
	x.row.handle(humago.NewContext(x.row.op, r, &sink))
	switch f := x.invalid(); {
	case f != nil:
		return f
	case x.err != nil:
		return x.err
	case !x.handled:
		return fmt.Errorf("%s was not handled", x.row.ID)
	}
	return nil
}

// inputHeader is what huma sees of the headers: no input is bound to one, and
// the media type, which huma compares to the letter, was checked before.
var inputHeader = http.Header{"Content-Type": {"application/json"}}

func (x *exchange) finish() error {
	body, err := encode(x.answer)
	if err != nil {
		return fmt.Errorf("answer of %s: %w", x.row.ID, err)
	}
	x.send(x.row.Status, body)
	return nil
}

func (x *exchange) send(status int, body []byte) { x.status, x.payload = status, body }

func (x *exchange) write(w http.ResponseWriter) {
	if x.r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(x.status)
		return
	}
	writeJSON(w, x.status, x.payload)
}

// discard takes what huma writes of its own: the answer is the exchange's.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header {
	if d.header == nil {
		d.header = http.Header{}
	}
	return d.header
}
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

var _ huma.Adapter = (*adapter)(nil)
