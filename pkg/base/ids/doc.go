// Package ids creates and validates identifiers and secrets: ULIDs with a type
// prefix, trip codes, random secrets and the hashes under which secrets are
// stored. Of a resource it knows only the prefix.
package ids
