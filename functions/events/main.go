// Command events is the Lambda function that streams events to clients. It has a function URL, because API Gateway
// cannot stream responses.
package main

import "svc/pkg/app"

func main() { app.Start(app.Events, app.Streaming(app.StreamRows)) }
