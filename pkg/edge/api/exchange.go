package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/base/codec"
	"svc/pkg/base/fault"
	"svc/pkg/base/panics"
	"svc/pkg/data/table"
)

// MaxBody is the largest request body, in bytes, unless the row has LongBody.
const MaxBody = 64 << 10

// LongestBody is the largest request body of a row with LongBody, in bytes.
const LongestBody = 512 << 10

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange { return ctx.Value(exchangeKey{}).(*exchange) }

// exchange is the state of one request in the pipeline.
type exchange struct {
	server *Server
	r      *http.Request
	header http.Header // of the response
	now    time.Time
	row    *operation
	caller *Caller
	entry  Entry
	agent  bool // the token is an agent's
	asks   bool // a person must confirm the call before the handler runs
	body   []byte
	key    string         // Idempotency-Key, "" for none
	kept   bool           // the record of the key was committed
	sealed []byte         // secret of the response, sealed for the record of the key; nil for none
	faults []fault.Detail // of the request, found by this package or by huma

	inspected bool
	handled   bool
	after     func(context.Context) error // of AfterChecks
	answer    any
	err       error

	status  int
	payload []byte
	tag     string // ETag of the response, "" for none
	form    *Form  // of the response; nil for JSON
}

// serve runs the pipeline. If it returns nil, the response is in status and
// payload.
func (x *exchange) serve(ctx context.Context) error {
	row, err := x.server.router.find(x.r)
	if errors.Is(err, fault.NotFound()) { // an unknown path says nothing to a caller without a token
		if err := x.identify(ctx); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	x.row, x.form = row, chooseForm(row.forms, strings.Join(x.r.Header.Values("Accept"), ","))
	x.resume()
	if row.streams && !x.entry.polls { // the context of the request lasts as long as the stream
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, firstPage)
		defer cancel()
	}
	if !row.deprecated.IsZero() {
		x.header.Set("Deprecation", "@"+strconv.FormatInt(row.deprecated.Unix(), 10))
		x.header.Set("Sunset", row.sunset.UTC().Format(http.TimeFormat))
	}
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
	if x.row.early != nil {
		defer x.startEarly(ctx)()
	}
	if x.row.Method == http.MethodGet {
		return x.serveRead(ctx)
	}
	if err := x.checkAccess(ctx); err != nil {
		return err
	}
	switch {
	case keyFault != nil:
		return keyFault
	case tooLarge:
		return &fault.Error{Kind: fault.KindTooLarge, Message: fmt.Sprintf("The body is larger than %d bytes.",
			x.row.maxBody)}
	case len(x.body) > 0 && !identity(x.r.Header.Values("Content-Encoding")):
		x.header.Set("Accept-Encoding", "identity") // RFC 9110 section 15.5.16
		return &fault.Error{Kind: fault.KindMediaType, Message: "The body must not have a content coding."}
	case len(x.body) > 0 && !jsonType(x.r.Header.Get("Content-Type")):
		return &fault.Error{Kind: fault.KindMediaType, Message: "The body must be application/json."}
	}
	return x.serveWrite(ctx)
}

// identify runs check 1: the request has a bearer token with a valid signature.
func (x *exchange) identify(ctx context.Context) error {
	if x.operated() {
		x.accept(x.entry.operator.access())
		return nil
	}
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
	if err != nil { // the keys could not be read, so the token may be valid
		return fmt.Errorf("verifying a token: %w", err)
	}
	x.accept(actor)
	return nil
}

// accept makes the actor the caller.
func (x *exchange) accept(actor signing.Access) {
	x.caller = &Caller{Actor: actor, Audience: authz.Audience(actor.Audience), Tenant: x.server.DB.Tenant(actor.TenantID),
		Platform: x.server.posts, Now: x.now, x: x, reading: &reading{done: make(chan struct{})}}
}

func (x *exchange) readBody() (tooLarge bool, err error) {
	if x.row.Method == http.MethodGet || x.r.Body == nil {
		return false, nil
	}
	x.body, err = io.ReadAll(io.LimitReader(x.r.Body, int64(x.row.maxBody)+1))
	if err != nil {
		return false, fault.Field("body", "could not be read")
	}
	if len(x.body) > x.row.maxBody {
		x.body = nil
		return true, nil
	}
	x.body = bytes.TrimPrefix(x.body, []byte("\ufeff")) // byte order mark (RFC 8259 section 8.1)
	return false, nil
}

// identity reports whether a body has no content coding (RFC 9110 section 8.4).
func identity(codings []string) bool {
	for _, coding := range codings {
		if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "identity") {
			return false
		}
	}
	return true
}

func jsonType(header string) bool {
	if header == "" {
		return true
	}
	kind, params, err := mime.ParseMediaType(header)
	charset := strings.ToLower(params["charset"])
	return err == nil && kind == "application/json" && (charset == "" || charset == "utf-8")
}

// read starts the single batch read of a request. The batch holds what the
// checks need, what the row Needs, and the record of the Idempotency-Key. It
// omits items of NeedsRecent that are still in the cache.
func (x *exchange) read(ctx context.Context) {
	c := x.caller
	keys, liveFrom := authz.LiveKeys(c.Tenant, x.server.clients, c.Actor), authz.LiveFrom
	if x.operated() {
		keys, liveFrom = authz.PlatformKeys(c.Tenant), authz.PlatformFrom
	}
	checks := len(keys)
	var recent []table.Item
	if x.row.needs != nil {
		for _, key := range x.row.needs(c.Tenant, x.peek()) {
			if it, ok := x.server.recent.get(key, x.now); ok && it.Found() && x.row.recent {
				recent = append(recent, it)
			} else {
				keys = append(keys, key)
			}
		}
	}
	needed := len(keys)
	if x.key != "" {
		keys = append(keys, x.recordKey(), x.earlierKey())
	}
	h := table.Join(c.Tenant.Handle, x.server.clients.Handle, x.server.posts.Handle)
	go func() {
		r := c.reading
		defer close(r.done)
		defer panics.Catch(&r.err)
		items, err := h.Batch(ctx, keys...)
		if r.err = err; err != nil {
			return
		}
		r.live, r.needed, r.recent = liveFrom(items), items[checks:needed], recent
		if x.key != "" {
			r.record = items[needed]
			if !r.record.Found() {
				r.record = items[len(items)-1]
			}
		}
	}()
}

func (x *exchange) peek() Peek {
	return Peek{x.r, x.caller.Actor, x.body, x.formType(), &x.server.recent}
}

// checkAccess waits for the batch read, runs all access checks except that of the
// signature, and charges the rate limits.
func (x *exchange) checkAccess(ctx context.Context) error {
	read, err := x.caller.reading.wait(ctx)
	if err != nil {
		return err
	}
	if !read.live.For(x.entry.Resource.Path) {
		return fault.Unauthorized(fmt.Sprintf("The token is not for this address. Ask for authorization with resource=%s%s.",
			x.server.BaseURL, x.entry.Resource.Path), true)
	}
	if err := authz.Judge(x.row.Policy, x.caller.Actor, read.live, x.now); err != nil {
		return err
	}
	if err := x.judgeAgent(read.live); err != nil {
		return err
	}
	if x.row.maxAge > 0 {
		if err := x.caller.Fresh(ctx, x.row.maxAge); err != nil {
			return err
		}
	}
	if err := x.server.buckets.charge(x.server.Rates, x.caller.Actor, x.now); err != nil {
		return err
	}
	x.server.shards.put(x.caller.Tenant.ID(), read.live.State().ReadShards, x.now)
	for _, it := range read.needed {
		if x.row.recent || x.row.early != nil {
			x.server.recent.put(it.Key, it, x.now)
		}
	}
	return nil
}

// serveRead runs the handler at the same time as the checks. If a check fails,
// serveRead discards the handler's result.
func (x *exchange) serveRead(ctx context.Context) error {
	hctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var handled error
	done := make(chan struct{})
	go func() {
		defer close(done)
		handled = x.handle(hctx)
	}()
	if err := x.checkAccess(ctx); err != nil {
		cancel(err)
		<-done // its result is discarded
		return err
	}
	<-done
	if handled != nil {
		return handled
	}
	if x.after != nil && x.r.Method != http.MethodHead { // a response without a body shows nothing
		if err := x.after(ctx); err != nil {
			return err
		}
	}
	if x.row.streams { // the server writes the page
		return nil
	}
	return x.finish(ctx)
}

// serveWrite runs the handler of a request that has passed all access checks. If
// a response is stored for the request's Idempotency-Key, serveWrite sends that
// response and does not run the handler.
func (x *exchange) serveWrite(ctx context.Context) error {
	x.inspect()
	if x.key != "" {
		read, err := x.caller.reading.wait(ctx)
		if err != nil {
			return err
		}
		if done, err := x.replay(ctx, read.record); done || err != nil {
			return err
		}
	}
	if err := x.handle(ctx); err != nil {
		return x.keepFault(ctx, fault.Of(err))
	}
	if x.entry.Confirmed && x.key != "" && !x.kept {
		if err := x.keepAnswer(ctx); err != nil {
			return err
		}
	}
	return x.finish(ctx)
}

// handle binds and validates the input and runs the handler.
func (x *exchange) handle(ctx context.Context) (err error) {
	defer panics.Catch(&err)
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

// inputHeader replaces the request's headers for huma, because no input is bound
// to a header, and the pipeline has checked the media type.
var inputHeader = http.Header{"Content-Type": {"application/json"}}

// finish encodes the answer.
func (x *exchange) finish(ctx context.Context) error {
	if done, err := x.finishForm(ctx); done {
		return err
	}
	body, err := codec.Marshal(x.answer)
	if err != nil {
		return fmt.Errorf("answer of %s: %w", x.row.ID, err)
	}
	x.sendTag()
	x.send(x.row.Status, body)
	return nil
}

func (x *exchange) send(status int, body []byte) { x.status, x.payload = status, body }

func (x *exchange) write(w http.ResponseWriter) {
	if x.form == nil {
		SetJSON(x.header)
	}
	if x.r.Method == http.MethodHead {
		w.WriteHeader(x.status)
		return
	}
	writeBody(w, x.status, x.payload)
}

// discard ignores what huma writes. The exchange writes the response.
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
