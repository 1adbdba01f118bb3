// Package erasure carries out the requests of pkg/domain/privacy: it writes a copy
// of what is stored of a person, and erases a person. sources lists every place in
// which a person's data is. Each step may be repeated, and a request that was begun
// goes on where it was, in any process.
package erasure
