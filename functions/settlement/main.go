// Command settlement is the function for receipts and postings of completed trips, from the table's stream.
package main

import "svc/pkg/app"

func main() { app.Start(app.Settlement, app.Settling) }
