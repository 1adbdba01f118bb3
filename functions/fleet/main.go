// Command fleet is the Lambda function that serves operators' endpoints of drivers, their documents and statements, and
// customers.
package main

import (
	"svc/pkg/app"
	"svc/pkg/base/phone/plans"
)

func main() { app.Start(app.Fleet, app.Phoning(plans.Read, app.API(app.FleetRows))) }
