package external

import (
	"strings"

	"svc/pkg/base/codec"
	"svc/pkg/base/fault"
	"svc/pkg/base/plaintext"
)

// Members are stored with a record. Only operators see them: whoever shows a record to a
// rider or driver sets them to the zero value.
type Members struct {
	ExternalID string            `json:"externalId,omitempty" doc:"Its identifier in another system. Absent for none, and for riders and drivers. An extension of the specification."`
	Metadata   map[string]string `json:"metadata,omitempty" doc:"What the company's programs store with it. Absent for nothing, and for riders and drivers. An extension of the specification."`
}

// Edit has the members of a request.
type Edit struct {
	ExternalID *string            `json:"externalId,omitempty" minLength:"1" maxLength:"128" doc:"Its identifier in another system: letter case counts, no blanks at its ends. Unique for the company and the kind of record, else a 409 that names the record that has it."`
	Metadata   map[string]*string `json:"metadata,omitempty" example:"{\"costCentre\":\"4711\"}" doc:"What your programs need beside it: at most 20 keys of 40 characters with texts of 500. No personal data: it is no place for names, addresses or phone numbers. A change merges the keys, and null removes one."`
}

// The limits. Builds up to 2026-11 may have stored longer identifiers, which stay.
const (
	longestID    = 128
	mostKeys     = 20
	longestKey   = 40
	longestValue = 500
)

// Edit returns the members as a request would have them.
func (m Members) Edit() (e Edit) {
	if m.ExternalID != "" {
		e.ExternalID = &m.ExternalID
	}
	if len(m.Metadata) > 0 {
		e.Metadata = make(map[string]*string, len(m.Metadata))
	}
	for key, value := range m.Metadata {
		e.Metadata[key] = &value
	}
	return e
}

// Set takes over what Edit returned and a request changed. An identifier that does not
// change may have any form. Errors: a 400.
func (m *Members) Set(e Edit) error {
	var wrong fault.Faults
	id, metadata, fits := codec.OrZero(e.ExternalID), map[string]string{}, true
	for key, value := range e.Metadata {
		if value != nil {
			metadata[key] = *value
			fits = fits && plaintext.IsLine(key, longestKey) && plaintext.IsText(*value, longestValue)
		}
	}
	wrong.Unless(id == "" || id == m.ExternalID || Valid(id), "externalId", "expected %s", Rule)
	wrong.Unless(fits && len(metadata) <= mostKeys, "metadata",
		"expected at most %d keys of %d characters with texts of %d, none of them with a control character", mostKeys,
		longestKey, longestValue)
	if m.ExternalID, m.Metadata = id, metadata; len(metadata) == 0 {
		m.Metadata = nil
	}
	return wrong.Err()
}

// Rule describes what Valid accepts. It is a part of an error message, as in "expected " + Rule.
var Rule = plaintext.Rule(longestID) + ", without blanks at its ends, and neither . nor .."

// Valid reports whether a new identifier, by the API or by an import, can be found by every
// client: many of them drop the segments . and .. of a path, also encoded ones.
func Valid(id string) bool {
	return plaintext.IsLine(id, longestID) && strings.TrimSpace(id) == id && id != "." && id != ".."
}

func (m Members) external() string { return m.ExternalID }
