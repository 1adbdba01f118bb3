// Package script takes a ride through its life over the API. Whoever runs it sends
// the requests, with their own tokens, retries and losses. It must not know how a
// request is sent.
package script

import (
	"encoding/json"
	"fmt"

	"svc/pkg/access/authz"
	"svc/pkg/base/money"
	"svc/pkg/domain/trip"
)

// Call is a POST of a ride. Step is "request", or the last part of the path.
type Call struct {
	As                    authz.Audience
	Step, Path, Body, Key string // Key is the Idempotency-Key, "" for none
}

// Send sends a call and returns the body of the response, which has a status of 2xx.
type Send func(Call) (json.RawMessage, error)

// Ride is a ride with its differences from others.
type Ride struct {
	Asks   string // members of the request besides origin and notes, such as `"paymentType":"CARD"`
	Notes  string // the rider's notes; "" sends none
	Fare   string // final fare; "" sends none
	Key    string // begins each Idempotency-Key; "" sends none
	Office bool   // an operator makes the driver's steps
}

// Steps are a driver's steps, in their order.
var Steps = []string{"accept", "arrived", "start", "complete"}

var reached = map[string]trip.Status{"accept": trip.Assigned, "arrived": trip.DriverArrived, "start": trip.InProgress,
	"complete": trip.Completed}

// Take requests the ride and drives it to its end. It returns the trip's id.
func (r Ride) Take(send Send) (id string, err error) {
	if id, err = r.Request(send); err == nil {
		err = r.Drive(send, id, Steps...)
	}
	return id, err
}

// Request requests the ride and returns the trip's id.
func (r Ride) Request(send Send) (id string, err error) {
	body := `"originAddress":"A","originLat":1,"originLng":2`
	if r.Notes != "" {
		body += fmt.Sprintf(`,"notes":%q`, r.Notes)
	}
	if r.Asks != "" {
		body += "," + r.Asks
	}
	made, err := r.send(send, Call{As: authz.Rider, Step: "request", Path: "/api/v1/me/trips", Body: "{" + body + "}"})
	return made.ID, err
}

// Drive makes the steps of the trip. Each response must show the trip in the status
// that the step leads to, and the last one the fare.
func (r Ride) Drive(send Send, id string, steps ...string) error {
	c := Call{As: authz.Driver, Path: "/api/v1/me/trips/"}
	if r.Office {
		c = Call{As: authz.Dashboard, Path: "/api/v1/trips/"}
	}
	base := c.Path + id + "/"
	for _, c.Step = range steps {
		c.Path, c.Body = base+c.Step, ""
		fares := c.Step == "complete" && r.Fare != ""
		if fares {
			c.Body = `{"finalFare":` + r.Fare + `}`
		}
		got, err := r.send(send, c)
		if err != nil {
			return err
		}
		if got.ID != id || got.Status != reached[c.Step] || fares && (got.FinalFare == nil ||
			!money.Must(*got.FinalFare).Equal(money.Must(json.Number(r.Fare)))) {
			return fmt.Errorf("%s of trip %s: %+v", c.Step, id, got)
		}
	}
	return nil
}

func (r Ride) send(send Send, c Call) (got trip.Trip, err error) {
	if r.Key != "" {
		c.Key = r.Key + "-" + c.Step
	}
	answer, err := send(c)
	if err == nil {
		err = json.Unmarshal(answer, &got)
	}
	if err == nil && r.Notes != "" && (got.Notes == nil || *got.Notes != r.Notes) {
		err = fmt.Errorf("the notes are not %q: %s", r.Notes, answer)
	}
	return got, err
}
