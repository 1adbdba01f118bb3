package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"svc/internal/test/script"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
)

const (
	destination = `"destAddress":"2 Street","destLat":40.72,"destLng":-74`
	road        = `"originAddress":"1 Street","originLat":40.7,"originLng":-74,` + destination
)

// steps takes steps of a ride.
func (c *companyDay) steps(r script.Ride, rider, driver *human, steps ...string) string {
	c.Helper()
	by := map[authz.Audience]*human{authz.Rider: rider, authz.Driver: driver, authz.Dashboard: c.boss}
	id, err := r.Take(func(call script.Call) (json.RawMessage, error) {
		return json.Marshal(c.must(by[call.As], "POST", strings.TrimPrefix(call.Path, "/api/v1/"), call.Body))
	}, steps...)
	testkit.Must(c.T, err)
	return id
}

// ride takes a ride of one of several kinds, and notes what it does to wallets.
func (c *companyDay) ride(i int) {
	c.Helper()
	c.rides++
	rider, pays := c.riders[i%len(c.riders)], []string{"CASH", "CARD", "WALLET"}[i%3]
	fare := int64(2000 + 5*i)
	if i%8 == 5 {
		c.scheduled(i, rider, pays, fare)
		return
	}
	estimate := c.must(rider, "POST", "me/estimates", `{"originLat":40.7,"originLng":-74,"destLat":40.72,"destLng":-74}`)
	id := c.steps(script.Ride{Asks: fmt.Sprintf(`%s,"serviceTypeId":%q,"paymentType":%q,"estimateId":%q`, destination,
		c.service, pays, estimate.items()[0].text("estimateId"))}, rider, nil, "request")
	if i%8 == 6 {
		c.must(rider, "POST", "me/trips/"+id+"/cancel", `{"reason":"Plans changed"}`)
		c.happened[cancelled]++
		c.cancelled++
		return
	}
	d := c.offered(id, nil)
	switch {
	case i%8 == 1:
		c.must(d, "POST", "me/trips/"+id+"/decline", "")
		c.happened[declined]++
		d = c.offered(id, nil)
	case i%64 == 2: // the offer ends
		d = c.offered(id, d)
		c.happened[noAnswer]++
	}
	d = c.take(i, id, d)
	c.steps(script.Ride{ID: id}, nil, d, "arrived", "start")
	if i%8 == 7 { // an accident
		c.must409(rider, "me/trips/"+id+"/cancel", "")
		c.must(c.boss, "POST", "trips/"+id+"/cancel", `{"reason":"An accident"}`)
		c.must409(d, "me/trips/"+id+"/complete", `{"finalFare":`+amount(fare)+`}`)
		c.happened[underWay]++
		c.cancelled++
		return
	}
	c.complete(i, id, rider, d, pays, fare)
	c.afterwards(i, id, rider, d, pays)
}

// complete ends a ride. In some rides the driver's phone is dead, so an operator does
// it; in others the driver mistypes the fare.
func (c *companyDay) complete(i int, id string, rider, d *human, pays string, fare int64) {
	c.Helper()
	switch i % 8 {
	case 0:
		c.steps(script.Ride{ID: id, Fare: amount(fare), Office: true}, nil, nil, "complete")
		c.must409(d, "me/trips/"+id+"/complete", `{"finalFare":`+amount(fare+100)+`}`) // the phone is back
		c.paid(id, rider, d, pays, fare)
		c.happened[deadPhone]++
	case 4:
		if status, answer := c.send(d, "POST", "me/trips/"+id+"/complete", `{"finalFare":1000000000000}`); status !=
			http.StatusBadRequest {
			c.Fatalf("an absurd fare: %d %v", status, answer)
		}
		c.happened[absurd]++
		c.steps(script.Ride{ID: id, Fare: amount(10 * fare)}, nil, d, "complete")
		c.paid(id, rider, d, pays, 10*fare)
		c.correct(id, rider, d, pays, fare, "A typo")
		c.happened[typo]++
	default:
		c.steps(script.Ride{ID: id, Fare: amount(fare)}, nil, d, "complete")
		c.paid(id, rider, d, pays, fare)
	}
}

// correct corrects a fare.
func (c *companyDay) correct(id string, rider, d *human, pays string, fare int64, why string) {
	c.Helper()
	c.must(c.boss, "POST", "trips/"+id+"/fare", fmt.Sprintf(`{"finalFare":%s,"reason":%q}`, amount(fare), why))
	c.paid(id, rider, d, pays, fare)
	c.versions[id] = max(c.versions[id], 1) + 1
	c.happened[corrected]++
}

// take has the driver accept. In some rides another driver gets the trip then.
func (c *companyDay) take(i int, id string, d *human) *human {
	c.Helper()
	c.steps(script.Ride{ID: id}, nil, d, "accept")
	switch i % 8 {
	case 3:
		other := c.drivers[0]
		if d == other {
			other = c.drivers[1]
		}
		c.must(c.boss, "POST", "trips/"+id+"/assign", `{"driverId":"`+other.id+`"}`)
		c.happened[handOver]++
		return other
	case 4:
		c.must(d, "POST", "me/trips/"+id+"/release", `{"reason":"Flat tyre"}`)
		c.happened[released]++
		d = c.offered(id, d)
		c.steps(script.Ride{ID: id}, nil, d, "accept")
	}
	return d
}

// scheduled has an operator book a ride for later, assign it and complete it. Every
// second one is for somebody who calls.
func (c *companyDay) scheduled(i int, rider *human, pays string, fare int64) {
	c.Helper()
	d, book := c.drivers[2], func(who string) told {
		return c.must(c.boss, "POST", "trips", fmt.Sprintf(`{%s,%s,"serviceTypeId":%q,"paymentType":%q,"scheduledFor":%q}`,
			who, road, c.service, pays, time.Now().Add(time.Hour).UTC().Format(time.RFC3339)))
	}
	who := fmt.Sprintf(`"customerId":%q`, rider.id)
	if i%16 == 5 {
		n := i / 16 % 3
		first := book(fmt.Sprintf(`"phone":"+1 212 555 019%d","name":"Caller %d"`, n, n))
		c.must(c.boss, "POST", "trips/"+first.text("id")+"/cancel", `{"reason":"Calls again"}`)
		c.cancelled++
		if c.callers[n] == nil {
			c.callers[n] = &human{audience: "rider", id: first.text("customerId")}
			c.happened[called]++
		}
		rider, who = c.callers[n], fmt.Sprintf(`"phone":"(212) 555-019%d"`, n)
	}
	made := book(who)
	if c.happened[booked]++; made.text("customerId") != rider.id {
		c.Fatalf("booked for %s, not for %s", made.text("customerId"), rider.id)
	}
	id := made.text("id")
	c.must(c.boss, "POST", "trips/"+id+"/assign", `{"driverId":"`+d.id+`"}`)
	c.steps(script.Ride{ID: id, Fare: amount(fare), Office: true}, nil, nil, script.Steps[2:]...)
	c.paid(id, rider, d, pays, fare)
}

// paid notes a fare, of which the company keeps a fifth.
func (c *companyDay) paid(id string, rider, d *human, pays string, fare int64) {
	was := c.fares[id]
	c.fares[id] = fare
	c.cents[d.id] -= (fare - was) / 5
	if pays != "CASH" {
		c.cents[d.id] += fare - was
	}
	if pays == "WALLET" {
		c.cents[rider.id] -= fare - was
	}
}

// afterwards corrects some fares and refunds some rides.
func (c *companyDay) afterwards(i int, id string, rider, d *human, pays string) {
	c.Helper()
	if i%5 == 0 {
		c.correct(id, rider, d, pays, c.fares[id]-505, "A detour")
		c.correct(id, rider, d, pays, c.fares[id]+5, "Not so long a detour")
	}
	if i%7 == 3 {
		c.post(rider, "customerId", "REFUND", 101, `,"tripId":"`+id+`"`)
		c.happened[refunded]++
	}
}

// order orders food, which is delivered or cancelled.
func (c *companyDay) order(i int) {
	c.Helper()
	rider, quantity := c.riders[i%len(c.riders)], int64(1+i%3)
	total := 715*quantity + 199
	o := c.must(rider, "POST", "me/orders", fmt.Sprintf(`{"businessId":%q,"items":[{"menuItemId":%q,"quantity":%d}],`+
		`"deliveryAddress":"1 Street","expectedTotal":%s}`, c.diner, c.dish, quantity, amount(total)))
	c.placed += o.cents("total")
	if i%6 == 0 {
		c.must(rider, "POST", "me/orders/"+o.text("id")+"/cancel", "")
		return
	}
	for _, body := range []string{`{"status":"ACCEPTED"}`, `{"status":"READY","driverId":"` + c.drivers[0].id + `"}`,
		`{"status":"DELIVERED"}`} {
		c.must(c.boss, "PATCH", "orders/"+o.text("id"), body)
	}
	c.delivered += total
}

// payOut pays a part of the largest balance of a driver. Every second time another
// driver's request is refused first.
func (c *companyDay) payOut(i int) {
	c.Helper()
	d := c.drivers[0]
	for _, one := range c.drivers {
		if c.cents[one.id] > c.cents[d.id] {
			d = one
		}
	}
	value := c.cents[d.id] / 4
	ask := func() string {
		return "withdrawals/" + c.eventually(d, "POST", "me/wallet/withdrawals", `{"amount":`+amount(value)+`}`).text("id")
	}
	if i%20 == 9 {
		id := ask()
		c.must409(d, "me/wallet/withdrawals", `{"amount":`+amount(c.cents[d.id])+`}`) // a part is held
		c.must(c.boss, "POST", id+"/refuse", `{"reason":"Too late today"}`)
		c.must409(c.boss, id+"/pay", "")
		c.happened[refused]++
	}
	c.must(c.boss, "POST", ask()+"/pay", "")
	c.cents[d.id] -= value
	c.happened[withdrawn]++
}
