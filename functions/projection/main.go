// Command projection is the Lambda function that maintains what is derived from the table's stream: counters, rows of
// searches and ranks, and the event feed. It also tells dispatch which trips have changed.
package main

import (
	"svc/pkg/app"
	"svc/pkg/base/phone/plans"
)

func main() { app.Start(app.Projection, app.Phoning(plans.Read, app.Projecting)) }
