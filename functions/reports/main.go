// Command reports is the function for the report summary and the wallets.
package main

import "svc/pkg/app"

func main() { app.Start(app.Reports, app.API(app.ReportRows)) }
