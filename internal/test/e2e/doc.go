// Package e2e owns the end-to-end suite. It checks what a client sees of a
// deployment with the demo data, over HTTP and through the real sign-in. The
// same suite runs on `svc dev`, sam local, LocalStack and a stack in AWS. It
// can run on one deployment many times. It does not know what is behind the
// address.
package e2e
