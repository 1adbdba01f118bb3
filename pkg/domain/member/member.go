package member

import (
	"svc/pkg/access/authz"
	"svc/pkg/base/email"
	"svc/pkg/base/fault"
	"svc/pkg/base/plaintext"
	"svc/pkg/domain/person"
)

// The states of a member.
const (
	invited  = "INVITED"  // the person has not accepted yet
	active   = "ACTIVE"   // the person may work
	disabled = "DISABLED" // the company, or the platform, has disabled the person
)

// Member is an operator of the company, or somebody who is invited to be one.
type Member struct {
	ID          string   `json:"id" doc:"Identifier of the person, sub of the tokens. Somebody who is invited gets another one by accepting."`
	Email       string   `json:"email" doc:"Mail address."`
	FirstName   string   `json:"firstName" doc:"First name; empty until the person accepts."`
	LastName    string   `json:"lastName" doc:"Last name."`
	Status      string   `json:"status" enum:"ACTIVE,DISABLED,INVITED" doc:"INVITED until the person accepts. A member who is not ACTIVE can do nothing."`
	Role        string   `json:"role" doc:"Name of the role that was assigned last, or a text. It grants nothing."`
	Permissions []string `json:"permissions" doc:"What the member may do."`
	Disabled    bool     `json:"disabled" doc:"Whether the member can do nothing."`
	CreatedAt   string   `json:"createdAt" format:"date-time" doc:"When the person joined or was invited."`
	InvitedBy   *string  `json:"invitedBy" nullable:"true" doc:"Who invited the person; null for a member who has accepted."`
	LinkEndsAt  *string  `json:"linkEndsAt" nullable:"true" format:"date-time" doc:"When the link of the invitation ends; null if there is none. Invite the address again for a new one."`
}

// NewMember is the request body of an invitation.
type NewMember struct {
	Email       string   `json:"email" minLength:"3" maxLength:"254" example:"ben@metro.example" doc:"The mail address to which the invitation goes. Only the owner of its account can accept."`
	Role        string   `json:"role,omitempty" enum:"owner,dispatcher,accountant,viewer" example:"dispatcher" doc:"The role to assign. Its permissions are copied, unless permissions says others."`
	Permissions []string `json:"permissions,omitempty" maxItems:"100" doc:"What the member may do, in place of what the role has. The inviter must hold all of them."`
}

// Invited is the response to an invitation.
type Invited struct {
	Member
	Link string `json:"link,omitempty" doc:"The link of the invitation. Only the platform's operator sees it; others have it mailed."`
}

// MemberEdit has the members that operators decide.
type MemberEdit struct {
	Role        string   `json:"role" maxLength:"100" example:"viewer" doc:"The role to assign: owner, dispatcher, accountant or viewer. Its permissions are copied, unless the request says others."`
	Permissions []string `json:"permissions" maxItems:"100" example:"[\"VIEW_TRIPS\"]" doc:"What the member may do. The caller must hold all of them."`
	Disabled    bool     `json:"disabled" doc:"true ends the member's tokens for good and refuses new ones."`
}

func shown(p person.Person, m person.Membership) Member {
	out := Member{ID: m.PersonID, Email: p.Email, FirstName: p.FirstName, LastName: p.LastName, Status: active,
		Role: m.Role, Permissions: m.Permissions, Disabled: m.Disabled, CreatedAt: m.CreatedAt}
	if m.Disabled {
		out.Status = disabled
	}
	return out
}

func shownInvitation(n person.Invitation) Member {
	return Member{ID: n.ID, Email: n.Email, Status: invited, Role: n.Role, Permissions: n.Permissions,
		CreatedAt: n.InvitedAt, InvitedBy: &n.InvitedBy, LinkEndsAt: n.EndsAt}
}

// check validates the body and brings it into its stored form.
func (n *NewMember) check() error {
	var wrong fault.Faults
	n.Email = email.Fold(n.Email) // what is typed may be another mailbox than that of the account
	if message := email.Fault(n.Email); message != "" {
		wrong.Add("email", message)
	}
	wrong.Unless(n.Role != "" || n.Permissions != nil, "role", "expected a role or permissions")
	if role, ok := person.RoleOf(n.Role); ok && n.Permissions == nil {
		n.Permissions = role.Permissions
	}
	permissions, err := authz.ParsePermissions("permissions", n.Permissions)
	if err != nil {
		wrong = append(wrong, fault.Of(err).Details...)
	}
	if n.Permissions = permissions; n.Role == "" {
		n.Role = "custom"
	}
	return wrong.Err()
}

// set changes the membership to what the body says. The permissions of a role are copied if
// the body names no others. A text that is no role stays, but cannot be assigned.
func (e MemberEdit) set(m *person.Membership, named func(member string) bool) error {
	role, known := person.RoleOf(e.Role)
	if e.Role != m.Role && !known || !plaintext.IsLine(e.Role, 100) {
		return fault.Field("role", "expected one of owner, dispatcher, accountant and viewer")
	}
	if known && named("role") && !named("permissions") {
		e.Permissions = role.Permissions
	}
	permissions, err := authz.ParsePermissions("permissions", e.Permissions)
	if err != nil {
		return err
	}
	m.Role, m.Permissions = e.Role, permissions
	if e.Disabled != m.Disabled {
		return m.Bar(e.Disabled)
	}
	return nil
}
