// Package generated runs the programs of docs/clients.md with clients generated
// from the document that the service serves.
package generated
