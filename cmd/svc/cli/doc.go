// Package cli has what all commands of svc share: the command line itself, its flags, output and
// exit codes, and the service that a command operates.
//
// No command belongs here. A command describes itself to this package by its flags and annotations.
package cli
