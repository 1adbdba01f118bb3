package demo

import (
	"fmt"
	"maps"
	"strings"

	"svc/pkg/access/authz"
)

// Password is the password of every demo person.
const Password = "demo-password"

// Person is a demo person who can sign in.
type Person struct {
	Tenant   string // slug; "" for the operator of both metro and harbor
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

// People lists the people of metro, harbor and the sandbox, then the operator of
// metro and harbor. Within a tenant, the operators come first.
func People() (out []Person) {
	for _, p := range demo.Tenants {
		slug := p.Tenant.Slug
		for _, one := range p.Operators {
			out = append(out, Person{slug, authz.Dashboard, one.ID, one.Email, one.FirstName, one.LastName})
		}
		for _, one := range p.Drivers {
			out = append(out, Person{slug, authz.Driver, one.ID, one.Email, one.FirstName, one.LastName})
		}
		for _, one := range p.Riders {
			out = append(out, Person{slug, authz.Rider, one.ID, one.Email, one.FirstName, one.LastName})
		}
	}
	one := demo.Support
	return append(out, Person{"", authz.Dashboard, one.ID, one.Email, one.FirstName, one.LastName})
}

// Look returns the name and the branding of the demo company with the slug.
func Look(slug string) (name string, look map[string]string) {
	p := demo.bySlug(slug)
	return p.Tenant.Name, maps.Clone(p.Branding)
}
