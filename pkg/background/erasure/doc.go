// Package erasure carries out the requests of pkg/domain/privacy: it writes a copy of
// what is stored of a person, and erases a person. The function sources lists every place
// that has data of a person. Each step may be repeated, and any process can continue a
// request after its last step.
package erasure
