//go:build race

package customer_test

// Thirty thousand customers take minutes under the race detector, which they
// are not about.
var tenantSizes = []int{1000, 10000}
