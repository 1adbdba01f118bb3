// Command docs is the function for the OpenAPI document, the reference page, /health and unknown paths.
package main

import "svc/pkg/app"

func main() { app.Start(app.Docs, app.Documents) }
