package main

import (
	"regexp"
	"strings"
	"testing"

	"svc/internal/test/testkit"
)

// TestFirstDeploymentPage: the last parts of docs/operations/first-deployment.md
// run as printed, here on the local engine.
func TestFirstDeploymentPage(t *testing.T) {
	testkit.Long(t)
	const page = "docs/operations/first-deployment.md"
	c := newCheckout(t)
	blocks := []string{"export BASE_URL=" + c.base}
	for _, heading := range []string{"## First tenant, operator, rider and driver", "## First ride"} {
		blocks = append(blocks, printed(t, page, heading)...)
	}
	out := c.bash(strings.Join(blocks, "\n"))
	link := regexp.MustCompile(regexp.QuoteMeta(c.base) + `/oauth/password\?\S+`).FindString(out)
	if link == "" || status(t, link) != 200 {
		t.Errorf("no link for the operator:\n%s", out)
	}
	if !strings.Contains(out, "ASSIGNED\nDRIVER_ARRIVED\nIN_PROGRESS\nCOMPLETED\n{\"id\":") {
		t.Errorf("the ride ends with:\n%s", out)
	}
}
