// Package imports owns files of people and places that a company brings along: the
// jobs that read them, their endpoints, and what a file may contain.
// pkg/background/jobs runs the jobs, and `svc import` reads the same files. The
// package must not know where files are kept.
package imports
