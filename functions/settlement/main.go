// Command settlement is the function that writes receipts, postings and trip counts of completed trips. It reads the
// table's stream. On a schedule it also settles the trips that the stream lost.
package main

import "svc/pkg/app"

func main() { app.Start(app.Settlement, app.Settling) }
