// Command keys is the function for the rotation of signing keys, on a schedule.
package main

import "svc/pkg/app"

func main() { app.Start(app.Keys, app.Rotation) }
