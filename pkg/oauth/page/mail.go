package page

import "strings"

// LinkMail gives the message that brings a one-time link to set a password, of
// the company where one is named. It holds nothing that a stranger could have
// chosen but the company's name, on one line.
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
