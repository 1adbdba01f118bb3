// Command fleet is the function for drivers and customers.
package main

import (
	"svc/pkg/app"
	"svc/pkg/base/phone/plans"
)

func main() { app.Start(app.Fleet, app.Phoning(plans.Read, app.API(app.FleetRows))) }
