package person

import (
	"slices"
	"strings"

	"svc/pkg/access/authz"
)

// Role is a template of a membership. Its permissions are copied when it is assigned, so a
// change of the list changes no member.
type Role struct {
	Name        string   `json:"name" doc:"Name of the role, as in the member's role."`
	Text        string   `json:"text" doc:"What the role is for."`
	Permissions []string `json:"permissions" doc:"What a member gets when the role is assigned."`
}

// The names of the roles.
const (
	Owner      = "owner"
	Dispatcher = "dispatcher"
	Accountant = "accountant"
	Viewer     = "viewer"
)

// roleNames are the names of the roles, the most powerful first.
var roleNames = []string{Owner, Dispatcher, Accountant, Viewer}

// Roles returns the roles. Each is enough for the work that its text names.
func Roles() []Role {
	reads := []string{"VIEW_BRANDING", "VIEW_BUSINESSES", "VIEW_CUSTOMERS", "VIEW_DRIVERS", "VIEW_EVENTS",
		"VIEW_FOOD_ORDERS", "VIEW_SETTINGS", "VIEW_TRIPS"}
	views := slices.DeleteFunc(authz.Permissions(), func(permission string) bool {
		return !strings.HasPrefix(permission, "VIEW_") || permission == "VIEW_FEEDBACK" // it also writes
	})
	return []Role{
		{Owner, "Everything, also who else may do what.", authz.Permissions()},
		{Dispatcher, "Books rides and orders and gives them to drivers. Sees what that needs: people, service types, " +
			"zones, events.", with(reads, "CREATE_CUSTOMERS", "CREATE_TRIPS", "MANAGE_FOOD_ORDERS", "VIEW_FEEDBACK")},
		{Accountant, "Sees trips and people, reads and exports reports, and posts to wallets.",
			with(reads, "EXPORT_REPORTS", "MANAGE_WALLETS", "VIEW_REPORTS", "VIEW_WALLETS")},
		{Viewer, "Sees everything and changes nothing.", views},
	}
}

// RoleOf returns the role with the name; ok is false if there is none.
func RoleOf(name string) (role Role, ok bool) {
	if i := slices.Index(roleNames, name); i >= 0 {
		return Roles()[i], true
	}
	return Role{}, false
}

func with(permissions []string, more ...string) []string {
	return slices.Sorted(slices.Values(append(more, permissions...)))
}
