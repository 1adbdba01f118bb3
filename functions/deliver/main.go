// Command deliver is the Lambda function that sends events to webhook endpoints. It reads a queue. On a schedule it
// also queues the attempts that are due after a long pause. It also handles what Amazon SES reports about mails.
package main

import "svc/pkg/app"

func main() { app.Start(app.Deliver, app.Delivering) }
