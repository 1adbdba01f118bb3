// Package ids creates and validates identifiers and secrets: ULIDs with a type
// prefix, short codes, random secrets and the hashes under which secrets are
// stored. The only thing that it knows of a resource is the prefix.
package ids
