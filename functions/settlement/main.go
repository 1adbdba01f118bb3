// Command settlement is the function that writes receipts and postings of completed trips. It reads the table's
// stream, and on a schedule it finds trips that the stream lost.
package main

import "svc/pkg/app"

func main() { app.Start(app.Settlement, app.Settling) }
