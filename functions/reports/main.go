// Command reports is the function for the report summary and the wallets.
package main

import (
	_ "time/tzdata" // a date alone is a day in a tenant's time zone

	"svc/pkg/app"
)

func main() { app.Start(app.Reports, app.API(app.ReportRows)) }
