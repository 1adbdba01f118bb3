// Command jobs is the Lambda function that works on jobs, such as exports and imports, which requests begin. It also
// carries out the due tasks of privacy requests and retention. A schedule starts it.
package main

import (
	_ "time/tzdata" // a date alone is a day in a tenant's time zone

	"svc/pkg/app"
	"svc/pkg/base/phone/plans"
)

func main() {
	app.Start(app.Jobs, app.Phoning(plans.Read, app.Working))
}
