package mail_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/mail"
	"svc/pkg/base/fault"
)

// TestReports: hard bounces and complaints stop mail, in both forms in which SES
// reports them; nothing else does.
func TestReports(t *testing.T) {
	t.Parallel()
	const bounce, complaint = `"bounce":{"bounceType":%q,"bounceSubType":%q,"bouncedRecipients":[{"emailAddress":%[3]q}]},` +
		`"mail":{"destination":[%[3]q]}`, `"complaint":{"complaintFeedbackType":%q,"complainedRecipients":[` +
		`{"emailAddress":%[2]q}]},"mail":{"destination":[%[2]q]}`
	for i, test := range []struct {
		report, address, reason string
	}{
		{`{"eventType":"Bounce",` + fmt.Sprintf(bounce, "Permanent", "General", "a@x.example"), "A@X.example ", mail.Bounce},
		{`{"notificationType":"Bounce",` + fmt.Sprintf(bounce, "Permanent", "NoEmail", "a@x.example"), "a@x.example",
			mail.Bounce},
		{`{"eventType":"Bounce",` + fmt.Sprintf(bounce, "Permanent", "OnAccountSuppressionList", "a@x.example"),
			"a@x.example", mail.Bounce},
		{`{"eventType":"Bounce",` + fmt.Sprintf(bounce, "Permanent", "General", "<a@x.example>"), "a@x.example", mail.Bounce},
		{`{"eventType":"Bounce",` + fmt.Sprintf(bounce, "Permanent", "General", `"Ann B." <a@x.example>`), "a@x.example",
			mail.Bounce},
		{`{"eventType":"Bounce",` + fmt.Sprintf(bounce, "Transient", "MailboxFull", "a@x.example"), "a@x.example", ""},
		{`{"eventType":"Bounce",` + fmt.Sprintf(bounce, "Transient", "General", "a@x.example"), "a@x.example", ""},
		{`{"eventType":"Bounce",` + fmt.Sprintf(bounce, "Undetermined", "Undetermined", "a@x.example"), "a@x.example", ""},
		{`{"eventType":"Bounce",` + fmt.Sprintf(bounce, "Permanent", "General", "nobody"), "nobody", ""},
		{`{"eventType":"Complaint",` + fmt.Sprintf(complaint, "abuse", "a@x.example"), "a@x.example", mail.Complaint},
		{`{"notificationType":"Complaint",` + fmt.Sprintf(complaint, "", "a@x.example"), "a@x.example", mail.Complaint},
		{`{"eventType":"Complaint",` + fmt.Sprintf(complaint, "not-spam", "a@x.example"), "a@x.example", ""},
		{`{"eventType":"Delivery","delivery":{"recipients":["a@x.example"]}`, "a@x.example", ""},
		{`{"eventType":"Reject","reject":{"reason":"Bad content"}`, "a@x.example", ""},
	} {
		stops := mail.NewStops(testkit.Table(t), time.Now)
		for range 2 { // SNS may deliver a message again
			_, err := stops.Refused(t.Context(), test.report+"}")
			testkit.Must(t, err)
		}
		found, err := stops.Find(t.Context(), test.address)
		if testkit.Must(t, err); test.reason == "" && found != nil || test.reason != "" && (found == nil ||
			found.Reason != test.reason || (found.Until == nil) != (test.reason == mail.Complaint)) {
			t.Errorf("report %d: %+v, want %q", i, found, test.reason)
		}
		if other, err := stops.Find(t.Context(), "b@x.example"); other != nil || err != nil {
			t.Errorf("report %d: another address: %+v, %v", i, other, err)
		}
	}
	stops := mail.NewStops(testkit.Table(t), time.Now)
	for _, message := range []string{"Successfully validated SNS topic for Amazon SES event publishing.", "", "[]"} {
		if n, err := stops.Refused(t.Context(), message); n != 0 || !errors.Is(err, mail.ErrReport) {
			t.Errorf("%q: %d, %v", message, n, err)
		}
	}
	if n, err := stops.Refused(t.Context(), `{"eventType":"Bounce","bounce":null}`); n != 0 || err != nil {
		t.Errorf("an empty bounce: %d, %v", n, err)
	}
}

// TestForgedReports: SES copies the address of a bounce from the receiver's own report
// (Final-Recipient), so a receiver may name somebody else. Only the address to which
// the mail went is stopped, also if the receiver forwards and names the next mailbox.
func TestForgedReports(t *testing.T) {
	t.Parallel()
	stops := mail.NewStops(testkit.Table(t), time.Now)
	const bounce = `{"eventType":"Bounce","bounce":{"bounceType":"Permanent","bouncedRecipients":[%s]},"mail":%s}`
	const complaint = `{"eventType":"Complaint","complaint":{"complainedRecipients":[%s]},"mail":%s}`
	const victim = `{"emailAddress":"victim@metro.example"}`
	for _, report := range []string{
		fmt.Sprintf(bounce, victim, `{"destination":["first@evil.example"]}`),
		fmt.Sprintf(bounce, victim+`,{"emailAddress":"second@evil.example"}`, `{"destination":["second@evil.example"]}`),
		fmt.Sprintf(bounce, victim, `{"destination":["third@evil.example","fourth@evil.example"]}`),
		fmt.Sprintf(bounce, victim, `{"destination":[]}`),
		fmt.Sprintf(bounce, victim, `null`),
		fmt.Sprintf(complaint, victim, `{"destination":["fifth@evil.example"]}`),
	} {
		_, err := stops.Refused(t.Context(), report)
		testkit.Must(t, err)
	}
	for address, want := range map[string]bool{"victim@metro.example": false, "first@evil.example": true,
		"second@evil.example": true, "third@evil.example": false, "fourth@evil.example": false, "fifth@evil.example": true} {
		found, err := stops.Find(t.Context(), address)
		if testkit.Must(t, err); (found != nil) != want {
			t.Errorf("%s: stopped %v, want %v", address, found != nil, want)
		}
	}
}

// TestStops: a bounce ends, a complaint stays until it is released, whatever comes
// first and also at the same time. No address is stored.
func TestStops(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	db := testkit.Table(t)
	stops := mail.NewStops(db, func() time.Time { return now })
	add := func(address, reason string) {
		t.Helper()
		testkit.Must(t, stops.Add(t.Context(), address, reason))
	}
	reason := func(address string) string {
		t.Helper()
		found, err := stops.Find(t.Context(), address)
		if testkit.Must(t, err); found == nil {
			return ""
		}
		return found.Reason
	}
	add("bounced@x.example", mail.Bounce)
	add("angry@x.example", mail.Bounce)
	add("angry@x.example", mail.Complaint)
	add("angry@x.example", mail.Bounce)
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			if err := stops.Add(t.Context(), "both@x.example", []string{mail.Bounce, mail.Complaint}[i%2]); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	listed, err := stops.List(t.Context(), 100)
	if testkit.Must(t, err); len(listed) != 3 {
		t.Errorf("listed %+v", listed)
	}
	now = now.Add(mail.BounceLife - time.Minute)
	add("late@x.example", mail.Bounce)
	if got := reason("bounced@x.example"); got != mail.Bounce {
		t.Errorf("before the end: %q", got)
	}
	now = now.Add(time.Minute)
	for address, want := range map[string]string{"bounced@x.example": "", "angry@x.example": mail.Complaint,
		"both@x.example": mail.Complaint, "Late@X.example": mail.Bounce} {
		if got := reason(address); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
	testkit.Must(t, stops.Release(t.Context(), " ANGRY@x.example"))
	if got := reason("angry@x.example"); got != "" {
		t.Errorf("released: %q", got)
	}
	if err := stops.Release(t.Context(), "angry@x.example"); !errors.Is(err, fault.NotFound()) {
		t.Errorf("released again: %v", err)
	}
	for _, one := range listed {
		if strings.Contains(one.ID, "@") || len(one.ID) != 64 {
			t.Errorf("stored as %q", one.ID)
		}
	}
}
