// Command dispatch is the Lambda function that finds drivers for trips. A queue tells it which trips have changed. On a
// schedule it also takes the steps that are due: offers that end, scheduled trips that begin.
package main

import "svc/pkg/app"

func main() { app.Start(app.Dispatch, app.Dispatching) }
