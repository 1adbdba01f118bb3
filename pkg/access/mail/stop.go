// Package mail keeps the addresses to which the service mails no more, because mail to
// them bounced for good or somebody complained of it.
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

// Why mail to an address is stopped.
const (
	Bounce    = "bounce"    // the mailbox does not exist
	Complaint = "complaint" // a person called a mail spam
)

// BounceLife is how long a bounce stops mail. A complaint stops it until it is released.
const BounceLife = 90 * 24 * time.Hour

// Stop says that mail to an address is stopped.
type Stop struct {
	ID     string  `json:"id"` // the hash of the folded address, which is stored nowhere
	Reason string  `json:"reason"`
	At     string  `json:"at"`
	Until  *string `json:"until"` // nil: until it is released
}

// Stops keeps the stops, for all companies together.
type Stops struct {
	p   table.Platform
	now func() time.Time
}

// NewStops returns the stops of a table.
func NewStops(db *table.DB, now func() time.Time) Stops { return Stops{db.Platform("MAILSTOP"), now} }

// ID returns the id of an address.
func ID(address string) string { return ids.Hash("mail\n" + email.Fold(address)) }

func (s Stops) key(id string) table.Key { return s.p.Key("MAILSTOP", id) }

var _ = table.Kind[any]{Type: "mailstop", Personal: "the hash of a mail address that takes no mail",
	Erasure: "nothing: still nothing may be mailed there", Once: "an update changes the reason"}

// Add stops mail to an address. A bounce does not shorten what a complaint stopped.
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

// Find returns why mail to an address is stopped, nil if it is not.
func (s Stops) Find(ctx context.Context, address string) (*Stop, error) {
	it, err := s.p.Get(ctx, s.key(ID(address)))
	if err != nil || !it.Live(s.now()) {
		return nil, err
	}
	one := stopOf(it)
	return &one, nil
}

// List returns the stops in the order of their ids, at most limit.
func (s Stops) List(ctx context.Context, limit int) (out []Stop, err error) {
	page, err := s.p.Query(ctx, s.p.Partition("MAILSTOP"), table.Query{Limit: limit, Fill: true})
	for _, it := range page.Items {
		if it.Live(s.now()) {
			out = append(out, stopOf(it))
		}
	}
	return out, err
}

// Release lets mail to an address pass again. The error is fault.NotFound if it is not
// stopped.
func (s Stops) Release(ctx context.Context, address string) error {
	return table.Retry(ctx, func(ctx context.Context) error {
		tx := s.p.Write()
		tx.Delete(s.key(ID(address))).If("attribute_exists(pk)").Else(fault.NotFound())
		return tx.Commit(ctx)
	})
}

func stopOf(it table.Item) Stop {
	out := Stop{ID: it.SK, Reason: it.Text("reason"), At: it.Text("at")}
	if !it.Expires.IsZero() {
		out.Until = timestamp.Ptr(it.Expires)
	}
	return out
}

// report is what SES says of a mail, as an event of a configuration set or as a
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

type recipient struct {
	Address string `json:"emailAddress"`
}

// ErrReport is the error for a message that is no report. SES sends one such message,
// when it begins to report.
var ErrReport = errors.New("not a report of SES")

// mostRecipients is how many recipients a mail of SES may have.
const mostRecipients = 50

// Refused stops mail to the addresses that SES reports: of a bounce that is permanent,
// and of a complaint that does not say the opposite. It returns how many those are. It
// stops no address to which the mail did not go. No error has an address. The error is
// ErrReport for another message.
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

// stopped returns the destinations of the mail that the report names. SES copies the
// addresses of a bounce from the receiver's own report, so a receiver may name anybody.
// Of a mail to one destination, that is the one, whomever the report names: the receiver
// may have forwarded the mail.
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

// addressOf returns the address alone, "" if there is none: a report may show it with a
// name or in angle brackets.
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
