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

// MailDefaults has the limit of every kind: mails in an hour. Those that strangers cause
// count by network address, the others by company.
var MailDefaults = MailLimits{MailInvitation: 100, MailForgot: 20, MailSignUp: 20, MailWebhook: 20}

// MailLimits are limits by the kind of mail. A kind that is absent has its default.
type MailLimits map[string]int

// Of returns the limit of a kind.
func (l MailLimits) Of(kind string) int {
	if n, ok := l[kind]; ok {
		return n
	}
	return MailDefaults[kind]
}

// mailLimits reads kind=number, separated by commas.
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

// mailDefaults returns the defaults as the variable has them.
func mailDefaults() string {
	var all []string
	for kind, n := range MailDefaults {
		all = append(all, fmt.Sprintf("%s=%d", kind, n))
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}
