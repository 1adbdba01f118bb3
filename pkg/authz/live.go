package authz

import (
	"strconv"

	"svc/pkg/ids"
	"svc/pkg/signing"
	"svc/pkg/table"
)

// Copies is the number of copies kept of what every request reads: a tenant's
// flags and a client's state. All are written in one transaction.
const Copies = 16

// The live items that the checks read, each under a key of its own. Attributes:
//
//	token       revoked (bool), epoch, client, actor, family, since (of the actor)
//	grant       epoch
//	membership  permissions (set), disabled, since (when it began, or of a newer password: earlier tokens are dead)
//	customer, driver  disabled, since (of the password that a link set: tokens of an earlier one are dead)
//	flags       disabled, taxiEnabled, deliveryEnabled, currency, priced (amounts were written in it), readShards, writeShards
//	client      disabled

// TokenKey is the key of an access token's audit record.
func TokenKey(t table.Tenant, jti string) table.Key { return t.Key("TOKEN", "TOKEN", jti) }

// GrantKey is the key of what an actor granted a client.
func GrantKey(t table.Tenant, client, actor string) table.Key {
	return t.Key("GRANT", "GRANT", client, actor)
}

// ActorKey is the key of the actor's record: an operator's membership, a
// rider's or a driver's record.
func ActorKey(t table.Tenant, audience Audience, actor string) table.Key {
	switch audience {
	case Dashboard:
		return t.Key("MEMBERSHIP", "PERSON", actor)
	case Rider:
		return t.Key("CUSTOMER", "CUSTOMER", actor)
	default:
		return t.Key("DRIVER", "DRIVER", actor)
	}
}

// FlagsKey is the key of copy n of the tenant's flags.
func FlagsKey(t table.Tenant, n int) table.Key {
	return t.Key("FLAGS", "FLAGS", strconv.Itoa(n))
}

// ClientKey is the key of copy n of a client's state; p covers CLIENT.
func ClientKey(p table.Platform, client string, n int) table.Key {
	return p.Key("STATE", "CLIENT", client, strconv.Itoa(n))
}

// LiveKeys gives the five keys that the checks of a token read, in the order
// token, grant, actor, flags, client. A token always reads the same copies.
func LiveKeys(t table.Tenant, p table.Platform, c signing.Access) []table.Key {
	n := ids.Pick(c.ID, Copies)
	return []table.Key{
		TokenKey(t, c.ID), GrantKey(t, c.ClientID, c.Subject),
		ActorKey(t, Audience(c.Audience), c.Subject), FlagsKey(t, n), ClientKey(p, c.ClientID, n),
	}
}
