// Package cli has what all commands of svc share: the command line itself, its flags, output and
// exit codes, and the service that a command operates.
//
// No command belongs here. What commands say of themselves, they say by flags and annotations.
package cli
