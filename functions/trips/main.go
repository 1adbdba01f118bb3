// Command trips is the function for operators' requests about trips.
package main

import (
	_ "time/tzdata" // a date alone is a day in a tenant's time zone

	"svc/pkg/app"
)

func main() { app.Start(app.Trips, app.API(app.TripRows)) }
