// Package export owns exports: files of a company's data. It has the jobs that make
// the files, their endpoints, and what is in a file. pkg/background/jobs runs the
// jobs. `svc export` writes the same files. The package must not know where files are
// kept.
package export
