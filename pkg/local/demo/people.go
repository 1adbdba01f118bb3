package demo

import (
	"fmt"
	"strings"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
)

// Password is the password of every demo person.
const Password = "demo-password"

// Person is a demo person who can sign in.
type Person struct {
	Tenant   string // slug; "" for the operator of both
	Audience authz.Audience
	ID       string
	Email    string
	First    string
	Last     string
}

// id returns a fixed id: the kind, and a ULID that contains the slug and n.
func id(kind, slug string, n int) string {
	word := "01J" + strings.NewReplacer("O", "0", "I", "1", "L", "1", "U", "V").Replace(strings.ToUpper(slug))
	return kind + "_" + word + fmt.Sprintf("%0*d", 26-len(word), n)
}

var names = map[string][]string{
	"metro drivers":   {"Maya Okafor", "Tomás Herrera", "Wei Zhang"},
	"metro riders":    {"Ava Thompson", "Noah Kim", "Zoë Laurent"},
	"metro office":    {"Grace Bennett"},
	"harbor drivers":  {"João Pereira", "Inês Carvalho", "Øyvind Berg"},
	"harbor riders":   {"Beatriz Sousa", "Émile Fontaine", "Ελένη Παπαδάκη"},
	"harbor office":   {"Rui Almeida"},
	"sandbox drivers": {"Lena Vogel"},
	"sandbox riders":  {"Sam Okoye"},
	"sandbox office":  {"Ida Lindqvist"},
	" office":         {"Robin Castellanos"},
}

// People lists the people of metro, harbor and the sandbox, then the operator of
// metro and harbor.
// Within a tenant, the operators come first.
func People() []Person {
	var out []Person
	for _, slug := range []string{"metro", "harbor", "sandbox", ""} {
		out = append(out, group(slug, "office", authz.Dashboard, ids.Person, "operator")...)
		out = append(out, group(slug, "drivers", authz.Driver, ids.Driver, "driver")...)
		out = append(out, group(slug, "riders", authz.Rider, ids.Customer, "rider")...)
	}
	return out
}

func group(slug, group string, audience authz.Audience, kind, word string) []Person {
	var out []Person
	for i, name := range names[slug+" "+group] {
		first, last, _ := strings.Cut(name, " ")
		p := Person{Tenant: slug, Audience: audience, ID: id(kind, slug, i+1), First: first, Last: last}
		switch {
		case slug == "":
			p.ID, p.Email = id(kind, "both", 1), "both@svc.example"
		case audience == authz.Dashboard:
			p.Email = word + "@" + slug + ".example"
		default:
			p.Email = fmt.Sprintf("%s%d@%s.example", word, i+1, slug)
		}
		out = append(out, p)
	}
	return out
}
