// Command settings is the function for settings, services, zones and branding.
package main

import "svc/pkg/app"

func main() { app.Start(app.Settings, app.API(app.SettingsRows)) }
