// Command settings is the Lambda function that serves operators' endpoints of settings, service types, zones, branding,
// events, webhooks and the sandbox.
package main

import "svc/pkg/app"

func main() { app.Start(app.Settings, app.Sealing(app.API(app.SettingsRows))) }
