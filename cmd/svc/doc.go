// Command svc runs the service on a developer's machine and operates one
// anywhere: `svc dev`, and a command for each thing an operator of the
// platform does.
//
// It owns flags, output and exit codes (0; 1 for a failure, with one line on
// standard error; 2 for wrong usage). It must not know rules of the service:
// a command calls the packages that have them.
package main
