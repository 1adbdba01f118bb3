// Package imports owns imports: files of people, addresses and past rides that a company
// brings from another system. It has the jobs that read the files, their endpoints, and
// what a file may contain. pkg/background/jobs runs the jobs, and `svc import` reads the
// same files. The package must not know where files are kept.
package imports
