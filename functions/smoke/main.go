// Command smoke is the Lambda function that CodeDeploy calls before a new version of a function gets traffic: a smoke
// test of that version.
package main

import "svc/pkg/app"

func main() { app.Start(app.Smoke, app.SmokeTest) }
