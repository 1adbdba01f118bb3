// Package delivery owns the businesses that a tenant delivers for and the
// orders placed with them. It must not know trips or payments.
package delivery
