//go:build race

package customer_test

// Under the race detector, thirty thousand customers take minutes. The test
// does not look for races, so it uses fewer.
var tenantSizes = []int{1000, 10000}
