// Command fleet is the function for drivers and customers.
package main

import "svc/pkg/app"

func main() { app.Start(app.Fleet, app.API(app.FleetRows)) }
