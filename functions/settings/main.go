// Command settings is the function for settings, service types, zones, branding, events and webhooks.
package main

import "svc/pkg/app"

func main() { app.Start(app.Settings, app.Sealing(app.API(app.SettingsRows))) }
