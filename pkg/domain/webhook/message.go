package webhook

import (
	"time"

	"svc/pkg/base/timestamp"
	"svc/pkg/domain/event"
	"svc/pkg/edge/api"
)

// Challenge is the message that an endpoint must echo before it gets events.
type Challenge struct {
	Type      string `json:"type" enum:"verification" doc:"What tells a challenge from an event."`
	Challenge string `json:"challenge" example:"QRNXAJKAWSXDFBIVBRS6ZZDFB4" doc:"The text to echo."`
	Timestamp string `json:"timestamp" format:"date-time" doc:"When it was sent."`
}

// Echo is the response to a challenge.
type Echo struct {
	Challenge string `json:"challenge" example:"QRNXAJKAWSXDFBIVBRS6ZZDFB4" doc:"The text of the challenge."`
}

// messages returns the kinds of messages that endpoints get, with examples, for the
// OpenAPI document.
func messages() []api.Webhook {
	const text = "QRNXAJKAWSXDFBIVBRS6ZZDFB4"
	at := time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)
	out := []api.Webhook{{Name: "verification", Text: "Asks whether the address wants events. Echo the challenge.",
		Body: Challenge{"verification", text, timestamp.Format(at)}, Answer: Echo{text}}}
	for _, kind := range event.Types() {
		out = append(out, api.Webhook{Name: kind.Name, Text: kind.Text, Body: event.Example(kind.Name, at)})
	}
	return out
}
