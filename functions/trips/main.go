// Command trips is the function for operators' requests about trips.
package main

import "svc/pkg/app"

func main() { app.Start(app.Trips, app.API(app.TripRows)) }
