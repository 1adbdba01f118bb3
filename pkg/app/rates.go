package app

import (
	"fmt"
	"os"
	"strconv"

	"svc/pkg/edge/api"
)

// RatesFromEnvironment reads TENANT_RATE and CLIENT_RATE: for one tenant and for
// one client, the limit in requests per second and process. Absent or 0 means no
// limit. It returns an error for any value but 0 to 1,000,000.
func RatesFromEnvironment() (api.Rates, error) {
	var r api.Rates
	for name, rate := range map[string]*int{"TENANT_RATE": &r.Tenant, "CLIENT_RATE": &r.Client} {
		text := os.Getenv(name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > 1_000_000 {
			return api.Rates{}, fmt.Errorf("%s is %q; expected requests per second, 0 (no limit) to 1000000", name, text)
		}
		*rate = n
	}
	return r, nil
}
