package page

import "strings"

// LinkMail returns a message with a one-time link to set a password. company
// may be empty. The company's name, on one line, is the only part of the
// message that a stranger could have chosen.
func LinkMail(lang Lang, company, link string) (subject, text string, err error) {
	if subject, err = lang.text("mail.subject"); err != nil {
		return "", "", err
	}
	if company = strings.Join(strings.Fields(company), " "); company != "" {
		subject += " – " + company
	}
	text, err = lang.text("mail.text", link)
	return subject, text, err
}
