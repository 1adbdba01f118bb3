package config

import (
	"fmt"
	"slices"
	"strings"
)

// The kinds of mail. Each has a limit of its own.
const (
	MailInvitation = "invitation" // of a driver or rider, by an operator or an agent
	MailForgot     = "forgot"     // to a person who forgot the password
	MailSignUp     = "signup"     // to a rider who wants an account
	MailWebhook    = "webhook"    // to the creator of a webhook endpoint that was disabled
)

// MailDefaults has the default limit of every kind, in mails per hour. Mails that
// strangers can cause are counted per network address, the others per tenant.
var MailDefaults = MailLimits{MailInvitation: 100, MailForgot: 20, MailSignUp: 20, MailWebhook: 20}

// MailLimits are limits by the kind of mail. A kind that is absent has its default.
type MailLimits map[string]int

// Of returns the limit of a kind of mail, in mails per hour.
func (l MailLimits) Of(kind string) int {
	if n, ok := l[kind]; ok {
		return n
	}
	return MailDefaults[kind]
}

// mailLimits sets c.MailLimits from a text such as "forgot=20,signup=10".
func mailLimits(c *Config, text string) error {
	c.MailLimits = MailLimits{}
	for _, one := range split(text) {
		kind, n, _ := strings.Cut(one, "=")
		most, err := number(n, 1, 1_000_000)
		if _, known := MailDefaults[kind]; !known || err != nil {
			c.MailLimits = nil
			return fmt.Errorf("has %q", one)
		}
		c.MailLimits[kind] = most
	}
	return nil
}

// mailDefaults returns the defaults in the form that mailLimits reads.
func mailDefaults() string {
	var all []string
	for kind, n := range MailDefaults {
		all = append(all, fmt.Sprintf("%s=%d", kind, n))
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}
