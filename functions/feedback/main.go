// Command feedback is the function for the roadmap.
package main

import "svc/pkg/app"

func main() { app.Start(app.Feedback, app.API(app.FeedbackRows)) }
