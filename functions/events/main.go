// Command events is the function that streams events at a function URL.
package main

import "svc/pkg/app"

func main() { app.Start(app.Events, app.Streaming(app.StreamRows)) }
