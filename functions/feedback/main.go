// Command feedback is the function for the roadmap's feedback.
package main

import "svc/pkg/app"

func main() { app.Start(app.Feedback, app.API(app.FeedbackRows)) }
