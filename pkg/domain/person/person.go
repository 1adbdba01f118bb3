package person

import (
	"slices"
	"strings"

	"svc/pkg/access/authz"
	"svc/pkg/base/email"
	"svc/pkg/base/fault"
	"svc/pkg/base/plaintext"
	"svc/pkg/data/table"
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

// Membership is a person's role and permissions in one tenant.
type Membership struct {
	TenantID    string   `json:"tenantId"`
	PersonID    string   `json:"personId"`
	Role        string   `json:"role"`        // text for people: "owner", "dispatcher"
	Permissions []string `json:"permissions"` // sorted
	Disabled    bool     `json:"disabled"`    // Barred, or the person is disabled everywhere; the access checks read it
	Barred      bool     `json:"barred"`      // the tenant disabled the membership (Disable)
	CreatedAt   string   `json:"createdAt"`
}

// MaxTenants is the maximum number of memberships of a person. One transaction
// must be able to change them all.
const MaxTenants = 40

func (p *Person) normalize() error {
	p.Email, p.FirstName, p.LastName = strings.TrimSpace(p.Email), strings.TrimSpace(p.FirstName),
		strings.TrimSpace(p.LastName)
	var wrong fault.Faults
	wrong.Unless(email.Valid(email.Fold(p.Email)), "email", "expected a mail address")
	wrong.Unless(plaintext.IsOptional(p.FirstName, 100) && plaintext.IsOptional(p.LastName, 100), "name",
		"expected at most 100 characters, none of them a control character")
	return wrong.Err()
}

// FromItem decodes a person from the PERSON item. It returns fault.NotFound if
// there is none.
func FromItem(it table.Item) (Person, error) { return table.DecodeDoc[Person](it) }

// MemberKind stores memberships. Permissions and Disabled are attributes of the item.
var MemberKind = table.Kind[Membership]{Type: "membership", Personal: "nothing",
	Row: func(t table.Tenant, _ string, m Membership) table.Item {
		return table.Item{Key: authz.ActorKey(t, authz.Dashboard, m.PersonID), Version: 1,
			G: [4]string{MembersPartition(t)}, R: m.PersonID, Attrs: map[string]any{"permissions": m.Permissions,
				"disabled": m.Disabled, "role": m.Role, "since": m.CreatedAt}}
	},
	Read: func(it table.Item) (Membership, error) {
		m, err := table.DecodeDoc[Membership](it)
		if err != nil {
			return Membership{}, err
		}
		m.Permissions, m.Disabled = it.Strings("permissions"), it.Flag("disabled")
		if m.Permissions == nil {
			m.Permissions = []string{}
		}
		slices.Sort(m.Permissions)
		return m, nil
	}}
