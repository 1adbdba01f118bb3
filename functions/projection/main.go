// Command projection is the function that updates counters, search rows and rank rows from the table's stream.
package main

import "svc/pkg/app"

func main() { app.Start(app.Projection, app.Projecting) }
