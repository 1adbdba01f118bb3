// Command mcp is the function that agents call: every operation of the API as a
// tool.
package main

import "svc/pkg/app"

func main() { app.Start(app.MCP, app.Agents(app.Rows)) }
