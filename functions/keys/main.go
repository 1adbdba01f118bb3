// Command keys is the Lambda function that rotates the signing keys on a schedule.
package main

import "svc/pkg/app"

func main() { app.Start(app.Keys, app.Rotation) }
