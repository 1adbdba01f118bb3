// Command oauth is the Lambda function that serves the authorization server (/oauth, /.well-known) and /health/ready.
package main

import "svc/pkg/app"

func main() { app.Start(app.OAuth, app.Authorization) }
