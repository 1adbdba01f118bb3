// Package e2e owns the end-to-end suite: what a client sees of a deployment
// that has the demo data, over HTTP and through the real sign-in. It is one and
// the same for `svc dev`, sam local, LocalStack and a stack in AWS, may run on
// the same deployment again and again, and knows nothing of what is behind the
// address.
package e2e
