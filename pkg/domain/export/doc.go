// Package export owns files of a company's data: the jobs that make them, their
// endpoints, and what is in a file. pkg/background/jobs runs the jobs. `svc export`
// writes the same files. The package must not know where files are kept.
package export
