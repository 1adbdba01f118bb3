package table

import (
	"slices"
	"strings"
)

// Key addresses one item.
type Key struct{ PK, SK string }

// Handle is the permission to access keys under certain prefixes. The zero
// handle permits none.
type Handle struct {
	db       *DB
	prefixes []string
	scans    string // id of the tenant whose items the handle may find with a Scan (Footprint); "" for none
}

// Tenant is the handle for one tenant's data.
type Tenant struct {
	Handle
	id string
}

// Platform is a handle for platform data: people, clients, codes, posts.
type Platform struct{ Handle }

// Tenant returns the handle for the tenant's data. If the id is invalid
// (empty, or contains a separator), the handle permits no key.
func (db *DB) Tenant(id string) Tenant {
	if id == "" || strings.Contains(id, "#") {
		return Tenant{Handle: Handle{db: db}, id: id}
	}
	return Tenant{Handle: Handle{db: db, prefixes: []string{"T#" + id + "#"}}, id: id}
}

// Platform returns a handle for platform data of the named kinds, as in
// Platform("CLIENT", "CODE"). It permits each partition that begins with a kind
// and "#". It panics if a kind is empty, contains "#", or is "T", which begins the keys of
// tenants.
func (db *DB) Platform(kinds ...string) Platform {
	var prefixes []string
	for _, kind := range kinds {
		if kind == "" || kind == "T" || strings.Contains(kind, "#") {
			panic("table: not a platform kind: " + kind)
		}
		prefixes = append(prefixes, kind+"#")
	}
	return Platform{Handle{db: db, prefixes: prefixes}}
}

// Join returns a handle that permits all keys of the given handles.
func Join(handles ...Handle) Handle {
	joined, n := Handle{}, 0
	for _, h := range handles {
		n += len(h.prefixes)
	}
	joined.prefixes = make([]string, 0, n)
	for _, h := range handles {
		joined.db = h.db
		joined.prefixes = append(joined.prefixes, h.prefixes...)
	}
	return joined
}

// ID returns the tenant's id.
func (t Tenant) ID() string { return t.id }

// Partition returns T#<tenant>#part#part…, for main keys and index keys.
func (t Tenant) Partition(parts ...string) string {
	size := len("T#") + len(t.id)
	for _, part := range parts {
		size += len("#") + len(part)
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString("T#")
	b.WriteString(t.id)
	for _, part := range parts {
		b.WriteByte('#')
		b.WriteString(part)
	}
	return b.String()
}

// Key returns the key whose last part is the range key. The others name the partition
// T#<tenant>#part#part…. For example, t.Key("TRIP", id, "RECEIPT") is RECEIPT in
// T#<tenant>#TRIP#<id>.
func (t Tenant) Key(parts ...string) Key {
	last := len(parts) - 1
	return Key{PK: t.Partition(parts[:last]...), SK: parts[last]}
}

// Partition returns part#part…; a single part gets a trailing "#".
func (p Platform) Partition(parts ...string) string {
	if len(parts) == 1 {
		return parts[0] + "#"
	}
	return strings.Join(parts, "#")
}

// Key returns the key whose last part is the range key. The others name the partition.
// For example, p.Key("CLIENT", id, "0", "STATE") is STATE in CLIENT#<id>#0.
func (p Platform) Key(parts ...string) Key {
	last := len(parts) - 1
	return Key{PK: p.Partition(parts[:last]...), SK: parts[last]}
}

// covers reports whether the handle permits the partition key.
func (h Handle) covers(pk string) bool {
	return slices.ContainsFunc(h.prefixes, func(prefix string) bool { return strings.HasPrefix(pk, prefix) })
}
