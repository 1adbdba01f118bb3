// Command settlement is the Lambda function that writes the receipts, postings and trip counts of completed trips. It
// reads the table's stream. On a schedule it also settles the trips whose stream records were lost.
package main

import "svc/pkg/app"

func main() { app.Start(app.Settlement, app.Settling) }
