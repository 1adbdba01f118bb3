// Command me is the Lambda function that serves the endpoints under /api/v1/me: the caller's own profile, driver
// status, trips, wallet, orders, addresses and payment methods.
package main

import "svc/pkg/app"

func main() { app.Start(app.Me, app.API(app.MeRows)) }
