// Package ids makes and checks identifiers and secrets: ULIDs with a type
// prefix, trip codes, random secrets and the hashes under which secrets are
// stored. It knows no resource but its prefix.
package ids
