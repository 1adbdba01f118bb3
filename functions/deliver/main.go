// Command deliver is the function that sends events to webhook endpoints. It reads a queue. On a schedule it also puts
// into the queue what is due: attempts after a long pause.
package main

import "svc/pkg/app"

func main() { app.Start(app.Deliver, app.Delivering) }
