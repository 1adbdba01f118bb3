//go:build !race

package customer_test

var tenantSizes = []int{1000, 10000, 30000}
