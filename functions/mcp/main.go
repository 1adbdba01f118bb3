// Command mcp is the Lambda function for agents: an MCP server with a tool for every operation of the API that is not
// switched off.
package main

import (
	_ "time/tzdata" // a date alone is a day in a tenant's time zone

	"svc/pkg/app"
	"svc/pkg/base/phone/plans"
)

func main() { app.Start(app.MCP, app.Phoning(plans.Read, app.Sealing(app.Agents(app.Rows)))) }
