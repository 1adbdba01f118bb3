// Command settings is the function for settings, service types, zones and branding.
package main

import "svc/pkg/app"

func main() { app.Start(app.Settings, app.API(app.SettingsRows)) }
