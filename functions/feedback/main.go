// Command feedback is the Lambda function that serves the endpoints of the feedback posts, a list that all tenants
// share.
package main

import "svc/pkg/app"

func main() { app.Start(app.Feedback, app.API(app.FeedbackRows)) }
