package person

import (
	"slices"
	"strings"
	"unicode/utf8"

	"svc/pkg/authz"
	"svc/pkg/email"
	"svc/pkg/fault"
	"svc/pkg/table"
)

// Person is an operator's global record.
type Person struct {
	ID        string   `json:"id"`
	Email     string   `json:"email"`
	FirstName string   `json:"firstName"`
	LastName  string   `json:"lastName"`
	Disabled  bool     `json:"disabled"`
	Tenants   []string `json:"tenants"` // ids of the tenants with a membership, oldest first
	CreatedAt string   `json:"createdAt"`
}

// Membership is what a person may do in one tenant.
type Membership struct {
	TenantID    string   `json:"tenantId"`
	PersonID    string   `json:"personId"`
	Role        string   `json:"role"`        // a word for people: "owner", "dispatcher"
	Permissions []string `json:"permissions"` // in order
	Disabled    bool     `json:"disabled"`    // here, or the person everywhere: what the checks go by
	Barred      bool     `json:"barred"`      // here, whatever the person is elsewhere
	CreatedAt   string   `json:"createdAt"`
}

// MaxTenants is how many memberships a person may have: they are changed
// together in one transaction.
const MaxTenants = 40

func (p *Person) normal() error {
	p.Email, p.FirstName, p.LastName = strings.TrimSpace(p.Email), strings.TrimSpace(p.FirstName), strings.TrimSpace(p.LastName)
	switch {
	case !email.Valid(email.Fold(p.Email)):
		return fault.Field("email", "expected a mail address")
	case utf8.RuneCountInString(p.FirstName) > 100 || utf8.RuneCountInString(p.LastName) > 100:
		return fault.Field("name", "expected at most 100 characters")
	}
	return nil
}

// known gives the permissions in order, each once, or says which is none.
func known(permissions []string) ([]string, error) {
	all := authz.Permissions()
	out := slices.Clone(permissions)
	for _, p := range out {
		if !slices.Contains(all, p) {
			return nil, fault.Field("permission", "there is no permission %s", p)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Of reads a person of the PERSON item; fault.NotFound when there is none.
func Of(it table.Item) (Person, error) {
	if !it.Found() {
		return Person{}, fault.NotFound()
	}
	var p Person
	return p, it.Decode(&p)
}

// MembershipOf reads a membership of its item; fault.NotFound when there is none.
func MembershipOf(it table.Item) (Membership, error) {
	if !it.Found() {
		return Membership{}, fault.NotFound()
	}
	var m Membership
	if err := it.Decode(&m); err != nil {
		return Membership{}, err
	}
	m.Permissions, m.Disabled = it.Strings("permissions"), it.Flag("disabled")
	if m.Permissions == nil {
		m.Permissions = []string{}
	}
	slices.Sort(m.Permissions)
	return m, nil
}
