// Package script takes a ride through its life over the API. The caller passes in the
// function that sends a request, with its own tokens and retries. The package must not
// know how a request is sent.
package script

import (
	"encoding/json"
	"fmt"

	"svc/pkg/access/authz"
	"svc/pkg/base/money"
	"svc/pkg/domain/trip"
)

// Steps are a ride's steps, in their order. All but the request are a driver's.
var Steps = []string{"request", "accept", "arrived", "start", "complete"}

// reached is the status of the trip after each step of the driver.
var reached = map[string]trip.Status{"accept": trip.Assigned, "arrived": trip.DriverArrived, "start": trip.InProgress,
	"complete": trip.Completed}

// Call is the POST of a step.
type Call struct {
	As                    authz.Audience
	Step, Path, Body, Key string // Key is the Idempotency-Key, "" for none
}

// Send sends a call and returns the body of the response, which has a status of 2xx.
type Send func(Call) (json.RawMessage, error)

// Ride describes a ride. Fields that are zero have the usual value.
type Ride struct {
	ID     string // of the trip; "" until it is requested
	Asks   string // members of the request besides origin and notes, such as `"paymentType":"CARD"`
	Notes  string // the rider's notes; "" sends none
	Fare   string // final fare; "" sends none
	Key    string // begins each Idempotency-Key; "" sends none
	Office bool   // an operator makes the driver's steps
}

// Take takes the steps, by default all that are left, and returns the trip's id. The
// response must show the notes of the request, the trip and status that a step leads
// to, and the fare.
func (r Ride) Take(send Send, steps ...string) (id string, err error) {
	if len(steps) == 0 {
		steps = Steps[min(len(r.ID), 1):] // a trip with an id is requested
	}
	for _, step := range steps {
		c := r.Call(step)
		answer, err := send(c)
		var got trip.Trip
		if err == nil {
			err = json.Unmarshal(answer, &got)
		}
		if err != nil {
			return r.ID, err
		}
		right := got.ID == r.ID && got.Status == reached[step]
		switch {
		case step == "request":
			r.ID, right = got.ID, r.Notes == "" || got.Notes != nil && *got.Notes == r.Notes
		case c.Body != "":
			right = right && got.FinalFare != nil && got.FinalFare.Decimal().Equal(money.Amount(r.Fare).Decimal())
		}
		if !right {
			return r.ID, fmt.Errorf("after %s %s: %s", step, c.Body, answer)
		}
	}
	return r.ID, nil
}

// Call returns the call of a step.
func (r Ride) Call(step string) Call {
	c := Call{As: authz.Driver, Step: step, Path: "/api/v1/me/trips/" + r.ID + "/" + step}
	switch {
	case step == "request":
		c.As, c.Path, c.Body = authz.Rider, "/api/v1/me/trips", `{"originAddress":"A","originLat":40.7,"originLng":-74`
		if r.Notes != "" {
			c.Body += fmt.Sprintf(`,"notes":%q`, r.Notes)
		}
		if r.Asks != "" {
			c.Body += "," + r.Asks
		}
		c.Body += "}"
	case r.Office:
		c.As, c.Path = authz.Dashboard, "/api/v1/trips/"+r.ID+"/"+step
	}
	if step == "complete" && r.Fare != "" {
		c.Body = `{"finalFare":` + r.Fare + `}`
	}
	if r.Key != "" {
		c.Key = r.Key + "-" + step
	}
	return c
}
