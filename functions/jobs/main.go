// Command jobs is the function that runs the jobs which requests begin, such as exports. A schedule starts it.
package main

import (
	_ "time/tzdata" // a date alone is a day in a tenant's time zone

	"svc/pkg/app"
)

func main() { app.Start(app.Jobs, app.Working) }
