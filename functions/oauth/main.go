// Command oauth is the function for the authorization server: /oauth and /.well-known.
package main

import "svc/pkg/app"

func main() { app.Start(app.OAuth, app.Authorization) }
