package authz

import (
	"strconv"
	"strings"

	"svc/pkg/access/signing"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
)

// Copies is how many times a tenant's flags and a client's state are stored, to
// avoid a hot key. Every API request reads one copy of each. A change writes all
// copies in one transaction, except priced: tenant.Price marks only the copy that
// was read.
const Copies = 16

// Live holds the five items that the checks of a token read. If an item does
// not exist, its Found is false.
type Live struct {
	// Token is the access token's audit record: revoked (bool), epoch, client,
	// actor, family, resource (see Resources), since (copied from the actor at
	// issue), if the token is an agent's agentActions, and if a secret of a machine got it
	// credential.
	Token table.Item
	// Grant is the actor's grant to the client. It has the attribute epoch.
	Grant table.Item
	// Actor is an operator's membership, or a rider's or driver's record. It has
	// disabled and since; a membership also has permissions (set).
	// login.EndTokens sets since, for example when the password changes. Before
	// that, a membership has the time of its creation and a record has no since.
	// A token with a different since is not valid. A machine has permissions, disabled,
	// epoch, until (Unix seconds) if it ends, and credentials (set).
	Actor table.Item
	// Flags are the tenant's flags. They include disabled, taxiEnabled,
	// deliveryEnabled, currency, priced (amounts in that currency exist),
	// readShards, writeShards and agentActions.
	Flags table.Item
	// Client is the client's state: disabled and, if the client has changed its
	// registration, scopes and audiences (words separated by blanks).
	Client table.Item

	// Platform means that the platform's operator calls, without a token. Only Flags has
	// an item.
	Platform bool
}

// PlatformKeys returns the keys of the items that the checks of the platform's operator
// read.
func PlatformKeys(t table.Tenant) []table.Key { return []table.Key{FlagsKey(t, 0)} }

// PlatformFrom builds the Live of the platform's operator from the items of PlatformKeys.
func PlatformFrom(batch []table.Item) Live { return Live{Flags: batch[0], Platform: true} }

// ConsentsOf returns the partition of by-g1 with an actor's consents, by client.
func ConsentsOf(t table.Tenant, actor string) string { return t.Partition("CONSENTS", actor) }

// TokensOf returns a shard's partition in the index by-g1, with the audit records of the
// tenant's access tokens, oldest first.
func TokensOf(t table.Tenant, shard int) string { return t.Partition("TOKENS", strconv.Itoa(shard)) }

// TokenKey returns the key of an access token's audit record.
func TokenKey(t table.Tenant, jti string) table.Key { return t.Key("TOKEN", jti, "TOKEN") }

// IsMachine reports whether the actor is a machine: a program that signs in as itself.
//
// The checks read a machine's item as its membership, its grant and its client's state at
// once. So they read two items less, and one write of that item ends all of its tokens.
func IsMachine(actor string) bool { return strings.HasPrefix(actor, ids.Machine+"_") }

// GrantKey returns the key of an actor's grant to a client.
func GrantKey(t table.Tenant, client, actor string) table.Key {
	if IsMachine(actor) {
		return ActorKey(t, Dashboard, actor)
	}
	return t.Key("GRANT", client, actor, "GRANT")
}

// ActorKey returns the key of the actor: an operator's membership, a machine, a rider's
// or a driver's record.
func ActorKey(t table.Tenant, audience Audience, actor string) table.Key {
	switch audience {
	case Dashboard:
		if IsMachine(actor) {
			return t.Key("MACHINE", actor, "MACHINE")
		}
		return t.Key("PERSON", actor, "MEMBERSHIP")
	case Rider:
		return t.Key("CUSTOMER", actor, "CUSTOMER")
	default:
		return t.Key("DRIVER", actor, "DRIVER")
	}
}

// FlagsKey returns the key of copy n of the tenant's flags.
func FlagsKey(t table.Tenant, n int) table.Key {
	return t.Key("FLAGS", strconv.Itoa(n), "FLAGS")
}

// ClientKey returns the key of copy n of a client's state. p must permit the
// kind CLIENT.
func ClientKey(p table.Platform, client string, n int) table.Key {
	return p.Key("CLIENT", client, strconv.Itoa(n), "STATE")
}

// LiveKeys returns the keys of the items in Live. The same token always reads
// the same copies.
func LiveKeys(t table.Tenant, p table.Platform, c signing.Access) []table.Key {
	n := ids.Pick(c.ID, Copies)
	actor, client := ActorKey(t, Audience(c.Audience), c.Subject), ClientKey(p, c.ClientID, n)
	if IsMachine(c.Subject) {
		client = actor
	}
	return []table.Key{TokenKey(t, c.ID), GrantKey(t, c.ClientID, c.Subject), actor, FlagsKey(t, n), client}
}

// LiveFrom builds a Live from the first items of a batch. The keys of the batch
// must begin with LiveKeys.
func LiveFrom(batch []table.Item) Live {
	return Live{Token: batch[0], Grant: batch[1], Actor: batch[2], Flags: batch[3], Client: batch[4]}
}
