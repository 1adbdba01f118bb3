package machine

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/plaintext"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/webhook"
)

// MachineEdit has what operators decide.
type MachineEdit struct {
	Name        string         `json:"name" minLength:"1" maxLength:"100" example:"Nightly export" doc:"Name of the machine."`
	Purpose     string         `json:"purpose,omitempty" maxLength:"300" example:"Copies the trips of the day into the books." doc:"What it is for."`
	Permissions []string       `json:"permissions" minItems:"1" maxItems:"100" example:"[\"VIEW_EVENTS\"]" doc:"What it may do. Whoever makes or changes the machine must hold all of them."`
	Enabled     *bool          `json:"enabled,omitempty" default:"true" doc:"false ends its tokens for good and refuses new ones."`
	EndsAt      *string        `json:"endsAt,omitempty" nullable:"true" format:"date-time" example:"2031-01-31T00:00:00.000Z" doc:"When it ends; null for never."`
	JWKS        map[string]any `json:"jwks,omitempty" nullable:"true" doc:"Public keys for private_key_jwt, as a JWK set of at most 3,000 bytes."`
	JWKSURI     *string        `json:"jwksUri,omitempty" nullable:"true" maxLength:"500" doc:"The https address of more public keys, as a JWK set."`
}

// Made is what the service adds to a machine at its creation.
type Made struct {
	ID        string `json:"id" doc:"Identifier of the machine; sub of its tokens." example:"mch_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	CreatedAt string `json:"createdAt" format:"date-time" doc:"When it was made."`
	CreatedBy string `json:"createdBy" doc:"Who made it. What becomes of that person later does not matter."`
}

// Machine is a machine as the API shows it.
type Machine struct {
	Made
	MachineEdit
	ClientID       string          `json:"clientId" doc:"The client_id at the token endpoint."`
	Secrets        []MachineSecret `json:"secrets" doc:"Its secrets, oldest first. Their text is not stored."`
	KeysLastUsedAt *string         `json:"keysLastUsedAt" format:"date-time" doc:"The hour in which a key last got a token."`
}

// MachineSecret is what is known of a secret.
type MachineSecret struct {
	ID         string  `json:"id" doc:"Identifier of the secret." example:"sec_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	CreatedAt  string  `json:"createdAt" format:"date-time" doc:"When it was made."`
	CreatedBy  string  `json:"createdBy" doc:"Who made it."`
	EndsAt     *string `json:"endsAt" format:"date-time" doc:"When it ends; null for never."`
	LastUsedAt *string `json:"lastUsedAt" format:"date-time" doc:"The hour in which it last got a token."`
}

// Record is a machine as it is stored.
type Record struct {
	Made
	MachineEdit
	Secrets []stored `json:"secrets"`

	Epoch   int64             `json:"-"` // tokens of another epoch have ended
	used    map[string]string // when the credential in a slot last got a token
	version int64             // of the item that was read
}

// stored is a secret as it is stored. Its slot names the attribute with its last use: beside
// the version, the authorization server may change these attributes alone.
type stored struct {
	MachineSecret
	Hash string `json:"hash"` // SHA-256
	Slot string `json:"slot"` // one of slots
}

// slots are the attributes with the hour of the last use of each secret, and keysSlot that
// of the keys.
var slots = []string{"used1", "used2"}

const keysSlot = "usedKeys"

// Key returns the key of a machine.
func Key(t table.Tenant, id string) table.Key { return authz.ActorKey(t, authz.Dashboard, id) }

func partition(t table.Tenant) string { return t.Partition("MACHINES") }

// Kind stores machines. by-g1 lists them by their time of creation, which begins the id. A
// machine is one item without copies, like a membership: its requests are bounded by the
// rate of one person.
var Kind = table.Kind[Record]{Type: "machine", Personal: "nothing",
	Row: func(t table.Tenant, _ string, r Record) table.Item {
		attrs := map[string]any{"permissions": r.Permissions, "disabled": !*r.Enabled, "epoch": r.Epoch, "until": nil,
			"credentials": r.credentials(), keysSlot: nilIfEmpty(r.used[keysSlot])}
		for _, slot := range slots {
			attrs[slot] = nilIfEmpty(r.used[slot])
		}
		if r.EndsAt != nil {
			if at, err := timestamp.Parse(*r.EndsAt); err == nil {
				attrs["until"] = at.Unix()
			}
		}
		return table.Item{Key: Key(t, r.ID), Version: 1, G: [4]string{partition(t)}, R: r.ID, Attrs: attrs}
	},
	Read: func(it table.Item) (Record, error) {
		r, err := table.DecodeDoc[Record](it)
		r.Epoch, r.used, r.version = it.Int("epoch"), map[string]string{}, it.Version
		for _, slot := range append([]string{keysSlot}, slots...) {
			r.used[slot] = it.Text(slot)
		}
		return r, err
	}}

func nilIfEmpty(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// credentials returns the ids of the secrets. A token that a removed one got is not valid.
func (r Record) credentials() (out []string) {
	for _, s := range r.Secrets {
		out = append(out, s.ID)
	}
	return out
}

// shown returns the machine as the API and the audit log show it.
func (r Record) shown(t table.Tenant) Machine {
	out := Machine{r.Made, r.MachineEdit, ClientID(t.ID(), r.ID), []MachineSecret{}, r.lastUse(keysSlot)}
	for _, s := range r.Secrets {
		s.LastUsedAt = r.lastUse(s.Slot)
		out.Secrets = append(out.Secrets, s.MachineSecret)
	}
	return out
}

func (r Record) lastUse(slot string) *string {
	if at := r.used[slot]; at != "" {
		return &at
	}
	return nil
}

// ClientID returns the client_id of a machine. It has the tenant, as a refresh token has:
// one batch then reads everything that a token needs. Both parts have letters, digits and _
// only, so no client encodes it wrongly.
func ClientID(tenant, id string) string { return tenant + "." + id }

// ParseClientID parses a client_id of a machine.
func ParseClientID(text string) (tenant, id string, ok bool) {
	tenant, id, ok = strings.Cut(text, ".")
	return tenant, id, ok && ids.Valid(ids.Tenant, tenant) && ids.Valid(ids.Machine, id)
}

// check validates what an operator set and brings it into its stored form. was is the
// machine before.
func (e *MachineEdit) check(was MachineEdit, now time.Time, local bool) error {
	var wrong fault.Faults
	if e.Enabled == nil {
		on := true
		e.Enabled = &on
	}
	wrong.Unless(plaintext.IsLine(e.Name, 100), "name", "expected %s", plaintext.Rule(100))
	wrong.Unless(plaintext.IsOptional(e.Purpose, 300), "purpose", "expected %s", plaintext.Rule(300))
	if e.EndsAt != nil {
		at, err := time.Parse(time.RFC3339Nano, *e.EndsAt)
		same := was.EndsAt != nil && *was.EndsAt == *e.EndsAt
		wrong.Unless(err == nil && (same || at.After(now)), "endsAt", "expected a time in the future")
		e.EndsAt = timestamp.Ptr(at)
	}
	e.checkKeys(&wrong, local)
	permissions, err := authz.ParsePermissions("permissions", e.Permissions)
	if err != nil {
		wrong = append(wrong, fault.Of(err).Details...)
	}
	e.Permissions = permissions
	return wrong.Err()
}

// maxKeys bounds the JWK set, because the checks of each request read the item.
const maxKeys = 3000

func (e *MachineEdit) checkKeys(wrong *fault.Faults, local bool) {
	if e.JWKSURI != nil {
		message := webhook.CheckURL(*e.JWKSURI, local)
		wrong.Unless(message == "", "jwksUri", "%s", message)
	}
	if e.JWKS == nil {
		return
	}
	text := e.keySet()
	wrong.Unless(len(text) <= maxKeys, "jwks", "expected at most %d bytes; use jwksUri for more", maxKeys)
	if _, err := signing.ParseClientKeys(text); err != nil {
		wrong.Add("jwks", err.Error())
	}
}

// keySet returns the JWK set, nil without one.
func (e MachineEdit) keySet() json.RawMessage {
	if e.JWKS == nil {
		return nil
	}
	text, err := json.Marshal(e.JWKS)
	if err != nil {
		panic(err) // it was JSON
	}
	return text
}

// onlyDisabledBy reports whether a change does nothing but disable the machine.
func (e MachineEdit) onlyDisabledBy(now Record) bool {
	e.Enabled = now.Enabled
	return !*now.Enabled && reflect.DeepEqual(e, now.MachineEdit)
}

// gives reports whether a change of was into e gives access that was not there: a key, a
// permission, or time.
func (e MachineEdit) gives(was MachineEdit) bool {
	lacked := func(permission string) bool { return !slices.Contains(was.Permissions, permission) }
	longer := was.EndsAt != nil && (e.EndsAt == nil || *e.EndsAt > *was.EndsAt)
	return e.hasKeys() && !e.sameKeys(was) || *e.Enabled && !*was.Enabled || longer ||
		slices.ContainsFunc(e.Permissions, lacked)
}

// hasKeys reports whether the machine may sign in by a key.
func (e MachineEdit) hasKeys() bool { return e.JWKS != nil || e.JWKSURI != nil }

// sameKeys reports whether two machines have the same keys.
func (e MachineEdit) sameKeys(other MachineEdit) bool {
	return slices.Equal(e.keySet(), other.keySet()) && value(e.JWKSURI) == value(other.JWKSURI)
}

func value(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
