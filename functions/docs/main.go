// Command docs is the Lambda function that serves the OpenAPI document, the reference page, /health and unknown paths.
package main

import "svc/pkg/app"

func main() { app.Start(app.Docs, app.Documents) }
