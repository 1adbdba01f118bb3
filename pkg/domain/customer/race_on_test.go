//go:build race

package customer_test

// Thirty thousand customers take minutes under the race detector, and the test
// is not about races.
var tenantSizes = []int{1000, 10000}
