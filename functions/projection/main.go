// Command projection is the function that updates counters, search rows and rank rows from the table's stream.
package main

import (
	"svc/pkg/app"
	"svc/pkg/base/phone/plans"
)

func main() { app.Start(app.Projection, app.Phoning(plans.Read, app.Projecting)) }
