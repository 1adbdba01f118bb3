// Package mail keeps the list of addresses to which the service sends no mail, because
// mail to them bounced permanently or a recipient complained.
package mail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"

	"svc/pkg/base/email"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
)

// The reasons for which mail to an address is stopped.
const (
	Bounce    = "bounce"    // the mailbox does not exist
	Complaint = "complaint" // a recipient reported a mail as spam
)

// BounceLife is how long a bounce stops mail. A complaint stops mail until Release.
const BounceLife = 90 * 24 * time.Hour

// Stop is the entry of an address to which no mail is sent.
type Stop struct {
	ID     string  `json:"id"` // hash of the folded address; the address itself is stored nowhere
	Reason string  `json:"reason"`
	At     string  `json:"at"`
	Until  *string `json:"until"` // end of the entry; nil: until Release deletes it
}

// Stops is the stored list of stopped addresses. All tenants share it.
type Stops struct {
	p   table.Platform
	now func() time.Time
}

// NewStops returns the list of stopped addresses in a table.
func NewStops(db *table.DB, now func() time.Time) Stops { return Stops{db.Platform("MAILSTOP"), now} }

// ID returns the id of an address in the list: a hash.
func ID(address string) string { return ids.Hash("mail\n" + email.Fold(address)) }

// key returns the key of the entry with the id.
func (s Stops) key(id string) table.Key { return s.p.Key("MAILSTOP", id) }

var _ = table.Kind[any]{Type: "mailstop", Personal: "the hash of a mail address that takes no mail",
	Erasure: "nothing: still nothing may be mailed there", Once: "an update changes the reason"}

// Add stops mail to an address. reason is Bounce or Complaint. A bounce does not
// replace a complaint, which lasts longer.
func (s Stops) Add(ctx context.Context, address, reason string) error {
	now := s.now()
	it := table.Item{Key: s.key(ID(address)), Type: "mailstop"}
	c := table.Change{Set: map[string]any{"type": it.Type, "reason": reason, "at": timestamp.Format(now)},
		Default: map[string]any{"v": 1}}
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := s.p.Write()
		if reason == Complaint {
			c.Remove = []string{"expiresAt"}
			tx.Update(it.Key, c)
		} else {
			c.Expires = now.Add(BounceLife).Unix()
			tx.Update(it.Key, c).If("attribute_not_exists('reason') OR 'reason' <> ?", Complaint)
		}
		return tx.Commit(ctx)
	})
	if errors.Is(err, table.ErrCondition) {
		return nil
	}
	return err
}

// Find returns the entry of an address, nil if mail to it is not stopped.
func (s Stops) Find(ctx context.Context, address string) (*Stop, error) {
	it, err := s.p.Get(ctx, s.key(ID(address)))
	if err != nil || !it.Live(s.now()) {
		return nil, err
	}
	one := stopOf(it)
	return &one, nil
}

// List returns at most limit entries, in the order of their ids.
func (s Stops) List(ctx context.Context, limit int) (out []Stop, err error) {
	page, err := s.p.Query(ctx, s.p.Partition("MAILSTOP"), table.Query{Limit: limit, Fill: true})
	for _, it := range page.Items {
		if it.Live(s.now()) {
			out = append(out, stopOf(it))
		}
	}
	return out, err
}

// Release deletes the entry of an address, so that mail is sent to it again. If there is
// no entry, it returns fault.NotFound.
func (s Stops) Release(ctx context.Context, address string) error {
	return table.Retry(ctx, func(ctx context.Context) error {
		tx := s.p.Write()
		tx.Delete(s.key(ID(address))).If("attribute_exists(pk)").Else(fault.NotFound())
		return tx.Commit(ctx)
	})
}

// stopOf decodes the stored entry of an address.
func stopOf(it table.Item) Stop {
	out := Stop{ID: it.SK, Reason: it.Text("reason"), At: it.Text("at")}
	if !it.Expires.IsZero() {
		out.Until = timestamp.Ptr(it.Expires)
	}
	return out
}

// report is a message of Amazon SES about a mail: an event of a configuration set or a
// notification of an identity.
type report struct {
	Event        string `json:"eventType"`
	Notification string `json:"notificationType"`
	Bounce       struct {
		Type       string      `json:"bounceType"`
		Recipients []recipient `json:"bouncedRecipients"`
	} `json:"bounce"`
	Complaint struct {
		Feedback   string      `json:"complaintFeedbackType"`
		Recipients []recipient `json:"complainedRecipients"`
	} `json:"complaint"`
	Mail struct {
		Destination []string `json:"destination"`
	} `json:"mail"`
}

// recipient is an address in a report of Amazon SES.
type recipient struct {
	Address string `json:"emailAddress"`
}

// ErrReport is the error for a message that is not a report. SES sends one such message
// when its reports are set up.
var ErrReport = errors.New("not a report of SES")

// mostRecipients is how many recipients a mail of SES may have.
const mostRecipients = 50

// Refused reads a message of SES and stops mail to the addresses that it reports: those of
// a permanent bounce, and of a complaint that is not marked as "not-spam". It returns how
// many addresses it stopped. It ignores addresses to which the mail was not sent. If the
// message is not the JSON of a report, the error is ErrReport. No error contains an
// address.
func (s Stops) Refused(ctx context.Context, message string) (int, error) {
	var r report
	if err := json.Unmarshal([]byte(message), &r); err != nil {
		return 0, ErrReport
	}
	reason, of := "", []recipient(nil)
	switch kind := r.Event + r.Notification; {
	case kind == "Bounce" && r.Bounce.Type == "Permanent":
		reason, of = Bounce, r.Bounce.Recipients
	case kind == "Complaint" && r.Complaint.Feedback != "not-spam":
		reason, of = Complaint, r.Complaint.Recipients
	}
	n := 0
	for _, address := range r.stopped(of) {
		if err := s.Add(ctx, address, reason); err != nil {
			return n, fmt.Errorf("mail is not stopped: %w", err)
		}
		n++
	}
	return n, nil
}

// stopped returns those destinations of the mail that are in of, the addresses that the
// report names. SES copies the addresses of a bounce from a report by the receiver, so a
// receiver may name anybody. If the mail has one destination, stopped returns that
// destination whatever address the report names, because the receiver may have forwarded
// the mail.
func (r report) stopped(of []recipient) (out []string) {
	named := map[string]bool{}
	for _, one := range of {
		named[ID(addressOf(one.Address))] = true
	}
	to := r.Mail.Destination
	for _, one := range to[:min(len(to), mostRecipients)] {
		address := addressOf(one)
		if address != "" && (named[ID(address)] || len(to) == 1 && len(of) > 0) {
			out = append(out, address)
		}
	}
	return out
}

// addressOf returns the mail address in a text that may also have a name or angle
// brackets, "" if there is none.
func addressOf(text string) string {
	if parsed, err := mail.ParseAddress(text); err == nil {
		text = parsed.Address
	}
	text = strings.Trim(text, "<> ")
	if !email.Valid(email.Fold(text)) {
		return ""
	}
	return text
}
