// Command smoke is the smoke test that CodeDeploy calls before a new version of a function gets traffic.
package main

import "svc/pkg/app"

func main() { app.Start(app.Smoke, app.SmokeTest) }
