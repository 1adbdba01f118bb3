// Command reports is the Lambda function that serves operators' endpoints of reports, wallets, exports, imports and
// privacy requests.
package main

import (
	_ "time/tzdata" // a date alone is a day in a tenant's time zone

	"svc/pkg/app"
)

func main() { app.Start(app.Reports, app.API(app.ReportRows)) }
