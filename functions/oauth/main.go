// Command oauth is the function for the authorization server (/oauth, /.well-known) and /health/ready.
package main

import "svc/pkg/app"

func main() { app.Start(app.OAuth, app.Authorization) }
