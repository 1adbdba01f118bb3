// Command trips is the Lambda function that serves operators' endpoints of trips.
package main

import (
	_ "time/tzdata" // a date alone is a day in a tenant's time zone

	"svc/pkg/app"
	"svc/pkg/base/phone/plans"
)

func main() { app.Start(app.Trips, app.Phoning(plans.Read, app.API(app.TripRows))) }
