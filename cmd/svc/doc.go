// Command svc runs the service on a developer's machine and operates any
// deployment. It has `svc dev`, and one command for each task of a platform
// operator. With `svc login` and `svc api` it is a client of the service for anybody.
//
// It owns flags, output and exit codes: 0; 1 for a failure; 2 for wrong usage or
// a change that was not confirmed. An error is one line on standard error. The
// command contains no rules of the service: it calls the packages that own them.
//
// Its packages import cli, and some operation, but not each other.
package main
