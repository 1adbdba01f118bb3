package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/access/throttle"
	"svc/pkg/base/codec"
	"svc/pkg/base/fault"
	"svc/pkg/base/panics"
	"svc/pkg/base/phone"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
)

// Caller identifies who calls. It holds the handles for the data that a handler
// may reach: the tenant's own data and the platform's shared roadmap.
type Caller struct {
	Actor    signing.Access
	Audience authz.Audience
	Tenant   table.Tenant
	Platform table.Platform // feedback posts and their listing rows; the list of open jobs
	Now      time.Time      // of the request, to the millisecond

	x       *exchange
	reading *reading
	early   *early // nil unless the row has Early
}

// By names the caller for the audit log, with the client and, if an agent calls,
// the tool.
func (c *Caller) By() audit.By {
	by := audit.By{Who: c.Actor.Subject, At: c.Now, Client: c.Actor.ClientID}
	if c.Agent() {
		by.Tool = c.x.row.ID
	}
	return by
}

// Seal seals a secret. The name is authenticated: only with it the secret can be
// opened.
func (c *Caller) Seal(ctx context.Context, name string, secret []byte) ([]byte, error) {
	if c.x.server.Sealer == nil {
		return nil, errors.New("this process cannot seal secrets: it has no key")
	}
	sealed, err := c.x.server.Sealer.Seal(ctx, name, secret)
	if err != nil { // the key service is down or denies access: nothing was changed
		return nil, fault.Unavailable(err)
	}
	return sealed, nil
}

// Reveal reports whether the response may show the secret. An agent never sees one,
// because whatever it reads may end up elsewhere. The secret must be the last member of
// the response, "secret", and the answer given to Commit must lack it: beside the record
// of an Idempotency-Key it is sealed.
func (c *Caller) Reveal(ctx context.Context, secret string) (shown bool, err error) {
	if c.Agent() || c.x.agent {
		return false, nil
	}
	if c.x.key != "" {
		c.x.sealed, err = c.x.sealSecret(ctx, secret)
	}
	return err == nil, err
}

// Agent reports whether an agent calls, by a tool.
func (c *Caller) Agent() bool { return c.x.entry.Resource.MCP() }

// Local reports whether the service runs on a laptop, without TLS.
func (c *Caller) Local() bool {
	return c.x.server.Local || strings.HasPrefix(c.x.server.BaseURL, "http://127.0.0.1:")
}

// BaseURL returns the service's address.
func (c *Caller) BaseURL() string { return c.x.server.BaseURL }

// Phone returns the number that a typed phone stands for in a country, nil if it is
// none or this process does not know the numbering plans.
func (c *Caller) Phone(typed, country string) *phone.Number {
	if c.x.server.Phones == nil {
		return nil
	}
	return c.x.server.Phones(typed, country)
}

// Mails reports whether the service can mail.
func (c *Caller) Mails() bool { return c.x.server.Mail != nil }

// CountMail adds a mail of the kind to the transaction of the change that causes it. The
// transaction fails with a 429 once the tenant has had its mails of an hour. If it has had
// them before, that is the error.
func (c *Caller) CountMail(ctx context.Context, tx *table.Tx, kind string) error {
	limits := throttle.New(c.x.server.DB, func() time.Time { return c.Now }, nil, c.x.server.Logger)
	return limits.Add(ctx, tx, throttle.Mail(c.x.server.MailLimits, kind, c.Tenant.ID()))
}

// Mail sends a message that was counted after a change has been committed. A failure is logged
// without the address, because the change stays.
func (c *Caller) Mail(ctx context.Context, to, subject, text string) {
	if err := c.x.server.Mail(ctx, to, subject, text); err != nil {
		c.x.server.Logger.ErrorContext(ctx, "a message was not mailed", "operation", c.x.row.ID, "tenant", c.Tenant.ID(),
			"cause", err)
	}
}

// Live waits for the checks' read and returns the current state of the actor
// and the tenant.
func (c *Caller) Live(ctx context.Context) (authz.State, error) {
	read, err := c.reading.wait(ctx)
	if err != nil {
		return authz.State{}, err
	}
	return read.live.State(), nil
}

// May returns nil if the caller also has what another policy requires, else the
// error that an operation with this policy returns.
func (c *Caller) May(ctx context.Context, p authz.Policy) error {
	read, err := c.reading.wait(ctx)
	if err != nil {
		return err
	}
	return authz.Permits(p, c.Actor, read.live)
}

// Standing returns what a job must keep of the caller's token.
func (c *Caller) Standing(ctx context.Context) (authz.Standing, error) {
	read, err := c.reading.wait(ctx)
	return read.live.Standing(c.Actor), err
}

// SignedIn returns when the person signed in for whom the token was issued, at first
// or by a refresh. It is the zero time if the token's record does not say so.
func (c *Caller) SignedIn(ctx context.Context) (time.Time, error) {
	read, err := c.reading.wait(ctx)
	if at := read.live.Token.Int(authz.SignedIn); err == nil && at > 0 {
		return time.Unix(at, 0), nil
	}
	return time.Time{}, err
}

// Fresh returns nil if the person has signed in within maxAge, else the 401 of a row with
// the option Fresh. A machine and the platform's operator have no sign-in that could be old.
func (c *Caller) Fresh(ctx context.Context, maxAge time.Duration) error {
	since, err := c.SignedIn(ctx)
	if err == nil && c.Now.Sub(since) > maxAge && !c.x.operated() && !c.Machine() {
		err = fault.SignInAgain(maxAge)
	}
	return err
}

// Machine reports whether a machine calls.
func (c *Caller) Machine() bool { return authz.IsMachine(c.Actor.Subject) }

// Operated reports whether the platform's operator calls, with svc.
func (c *Caller) Operated() bool { return c.x.operated() }

// Holds returns nil if the operator has all of the permissions, else the 403 for the first
// one that is missing. The platform's operator has all.
func (c *Caller) Holds(ctx context.Context, permissions []string) error {
	state, err := c.Live(ctx)
	if err != nil || c.x.operated() {
		return err
	}
	for _, one := range permissions {
		if !slices.Contains(state.Permissions, one) {
			return fault.Forbidden(one)
		}
	}
	return nil
}

// Link returns an address from which anybody can download the file until LinkLife
// has passed. as is the name of the saved file.
func (c *Caller) Link(ctx context.Context, file, as string) (string, error) {
	return c.x.server.Files.Link(ctx, file, as, c.Now)
}

// Upload returns where anybody can send the file to until LinkLife has passed.
func (c *Caller) Upload(ctx context.Context, file string, most int64) (*Upload, error) {
	u, err := c.x.server.Files.Upload(ctx, file, most, c.Now)
	return &u, err
}

// Begun says that the caller has begun a job. It wakes the jobs' runner, if it runs
// in this process.
func (c *Caller) Begun() {
	if c.x.server.Begun != nil {
		c.x.server.Begun()
	}
}

// Audit adds an entry to the audit log after a handler that reads, when all checks
// have passed. The caller gets no response before the entry is stored. An error
// becomes the response.
func (c *Caller) Audit(what, id string, now map[string]any) {
	c.x.after = func(ctx context.Context) error {
		return table.Retry(ctx, func(ctx context.Context) error {
			tx := c.Tenant.Write()
			audit.Append(tx, c.Tenant, c.By(), what, id, nil, now)
			return tx.Commit(ctx)
		})
	}
}

// Item returns an item. The items that the row Needs, the actor's record and
// the flags come from the checks' batch. Item reads any other key of the tenant
// from the table. Both reads are strongly consistent. But an item that the row
// declared with NeedsRecent may be a second old. If the item does not exist,
// its Found is false.
func (c *Caller) Item(ctx context.Context, key table.Key) (table.Item, error) {
	read, err := c.reading.wait(ctx)
	if err != nil {
		return table.Item{}, err
	}
	if it, has := read.item(key); has {
		return it, nil
	}
	return c.Tenant.Get(ctx, key)
}

// Items is Item for several items. If the checks' batch lacks one, Items reads all in one.
func (c *Caller) Items(ctx context.Context, keys ...table.Key) ([]table.Item, error) {
	read, err := c.reading.wait(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]table.Item, len(keys))
	for i, key := range keys {
		has := false
		if out[i], has = read.item(key); !has {
			return c.Tenant.Batch(ctx, keys...)
		}
	}
	return out, nil
}

// Reader returns a function that reads an item for each attempt of a change: the
// first time as Item does, then from the table.
func (c *Caller) Reader() audit.Reader {
	known := map[table.Key]bool{}
	return func(ctx context.Context, key table.Key) (table.Item, error) {
		if known[key] {
			return c.Tenant.Get(ctx, key)
		}
		known[key] = true
		return c.Item(ctx, key)
	}
}

// ReadShards returns the number of shards from which the tenant's lists are
// read. The number may be up to shardsTTL old.
func (c *Caller) ReadShards(ctx context.Context) (int, error) {
	if n, ok := c.x.server.shards.get(c.Tenant.ID(), c.Now); ok {
		return n, nil
	}
	state, err := c.Live(ctx)
	return state.ReadShards, err
}

// WriteShards returns the number of shards to which the tenant's new items are
// written.
func (c *Caller) WriteShards(ctx context.Context) (int, error) {
	state, err := c.Live(ctx)
	return state.WriteShards, err
}

// Commit commits the transaction of the caller's change, together with the
// record of the Idempotency-Key. Every handler that changes something must end
// with it. answer is what the handler will return.
func (c *Caller) Commit(ctx context.Context, tx *table.Tx, answer any) error {
	if c.x.key == "" {
		return tx.Commit(ctx)
	}
	body, err := codec.Marshal(answer)
	if err != nil {
		return fmt.Errorf("response to store: %w", err)
	}
	c.x.keep(tx, c.x.row.Status, body)
	err = tx.Commit(ctx)
	c.x.kept = err == nil
	return err
}

// reading is the single batch read of a request, in progress.
type reading struct {
	done chan struct{}
	found
	err error
}

// found holds the items of a request's single batch read.
type found struct {
	live   authz.Live
	needed []table.Item // the items that the row Needs
	recent []table.Item // items of NeedsRecent that an earlier request read
	record table.Item   // of the Idempotency-Key
}

// item returns an item that the checks' batch has read.
func (f found) item(key table.Key) (table.Item, bool) {
	for _, items := range [][]table.Item{f.needed, f.recent} {
		for _, it := range items {
			if it.Key == key {
				return it, true
			}
		}
	}
	switch key {
	case f.live.Actor.Key:
		return f.live.Actor, true
	case f.live.Flags.Key:
		return f.live.Flags, true
	}
	return table.Item{}, false
}

func (r *reading) wait(ctx context.Context) (found, error) {
	select {
	case <-r.done:
		return r.found, r.err
	case <-ctx.Done():
		cause := context.Cause(ctx)
		if errors.Is(cause, context.DeadlineExceeded) { // timeout; nothing is written yet
			cause = fault.Unavailable(cause)
		}
		return found{}, cause
	}
}

// early is the row's Early read of a request, in progress.
type early struct {
	done  chan struct{}
	value any
	err   error
}

// startEarly begins the row's Early read. The returned function ends it: it
// cancels the read and waits for it.
func (x *exchange) startEarly(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	e := &early{done: make(chan struct{})}
	x.caller.early = e
	peek := x.peek() // the request goes on, and shortens its body
	go func() {
		defer close(e.done)
		defer panics.Catch(&e.err)
		e.value, e.err = x.row.early(ctx, x.caller.Tenant, peek)
	}()
	return func() {
		cancel()
		<-e.done
	}
}

// EarlyOf waits for the row's Early read and returns its result.
func EarlyOf[T any](ctx context.Context, c *Caller) (out T, err error) {
	select {
	case <-c.early.done:
	case <-ctx.Done():
		return out, context.Cause(ctx)
	}
	if c.early.err != nil {
		return out, c.early.err
	}
	return c.early.value.(T), nil
}
