package page

import "strings"

// LinkMail returns a message with a one-time link to set a password. company
// may be empty. The company's name, on one line, is the only part of the
// message that a stranger could have chosen.
func LinkMail(lang Lang, company, link string) (subject, text string, err error) {
	return mail(lang, company, "mail", link)
}

// SignUpMail returns a message with a one-time link for a rider who wants an
// account.
func SignUpMail(lang Lang, company, link string) (subject, text string, err error) {
	return mail(lang, company, "signup.mail", link)
}

// KnownMail returns the message to somebody who asked for a rider's account and already
// has one. signIn and forgot are the addresses of the sign-in page and of the page for a
// new password.
func KnownMail(lang Lang, company, signIn, forgot string) (subject, text string, err error) {
	return mail(lang, company, "signup.known", signIn, forgot)
}

// mail returns the message whose texts have the keys <key>.subject and <key>.text in the
// language files. It puts the company's name in the subject and the links in the text.
func mail(lang Lang, company, key string, links ...any) (subject, text string, err error) {
	if subject, err = lang.textOf(key + ".subject"); err != nil {
		return "", "", err
	}
	if company = strings.Join(strings.Fields(company), " "); company != "" {
		subject += " – " + company
	}
	text, err = lang.textOf(key+".text", links...)
	return subject, text, err
}
