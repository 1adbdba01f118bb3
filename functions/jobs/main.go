// Command jobs is the function that runs the jobs which requests begin: exports and imports. A schedule starts it.
package main

import (
	_ "time/tzdata" // a date alone is a day in a tenant's time zone

	"svc/pkg/app"
	"svc/pkg/base/phone/plans"
)

func main() {
	app.Start(app.Jobs, app.Phoning(plans.Read, app.Working))
}
