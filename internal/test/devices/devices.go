// Package devices does what a person does to let a device without a browser act for them.
package devices

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"svc/pkg/oauth/flow"
)

// Allow opens the address that the device shows (verification_uri_complete) in a new browser,
// presses the button, signs in with the options and allows the access.
func Allow(ctx context.Context, o flow.Options, address string) error {
	b := flow.NewBrowser(o)
	values := url.Values{"email": {o.Email}, "password": {o.Password}, "tenant": {o.Tenant}, "decision": {"allow"}}
	for range 6 {
		page, at, err := b.Fill(ctx, address, values)
		if err != nil {
			return err
		}
		if page.Header.Get("Location") == "" {
			if page.StatusCode != 200 || strings.Contains(page.Body, "<form") {
				return fmt.Errorf("%s: %d %s", at.Path, page.StatusCode, page.Body)
			}
			return nil
		}
		next, err := at.Parse(page.Header.Get("Location"))
		if err != nil {
			return err
		}
		address = next.String()
	}
	return fmt.Errorf("the pages have no end")
}
