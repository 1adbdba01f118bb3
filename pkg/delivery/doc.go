// Package delivery owns the businesses that a tenant delivers for and the
// orders placed with them. It knows no trip and no payment.
package delivery
