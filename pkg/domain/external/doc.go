// Package external owns what the programs of a company store with a record: its
// identifier in another system, which is unique for the company and the kind of record,
// and metadata. A resource embeds Members and declares a Kind. Imports and operations of
// the API claim an identifier by the same row, so neither takes what the other has given.
package external
