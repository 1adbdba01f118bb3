package main

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"svc/internal/test/testkit"
	"svc/pkg/base/money"
	"svc/pkg/local/devpages"
	"svc/pkg/oauth/flow"
)

// TestCompanyDay runs a day of a new company through the API alone: people are
// invited, prices and dispatch are set, rides are estimated, offered, declined and
// handed over. Callers are booked for, fares are mistyped and corrected, phones die and
// rides are cancelled on the road. Money is refunded and paid out, food is ordered. The
// service is killed twice. At the end wallets, receipts, report and svc verify agree
// with the script's own sums to the cent. SVC_COMPANY sets the rides, or how long they
// go on at least, as in 60m.
func TestCompanyDay(t *testing.T) {
	testkit.Long(t)
	rides, long := 20, time.Duration(0)
	if text := os.Getenv("SVC_COMPANY"); text != "" {
		if n, err := strconv.Atoi(text); err == nil {
			rides = n
		} else {
			long, err = time.ParseDuration(text)
			testkit.Must(t, err)
		}
	}
	c := &companyDay{world: world{T: t, data: t.TempDir()}, clients: map[string]string{}, cents: map[string]int64{},
		fares: map[string]int64{}, versions: map[string]int{}, happened: map[string]int{}, posted: map[string]int64{},
		callers: map[int]*human{}}
	c.start()
	t.Cleanup(c.kill)
	c.found()
	begun, armed := time.Now(), 0
	part := func(i int) float64 { // of the day, which has so many rides also on a slow machine
		done := float64(i) / float64(rides)
		if long > 0 {
			return min(done, float64(time.Since(begun))/float64(long))
		}
		return done
	}
	for i := 0; part(i) < 1; i++ {
		if armed < 2 && part(i)*3 >= float64(armed+1) {
			armed++
			c.killAt = c.calls + 3 + rand.IntN(12)
		}
		if i%20 == 0 {
			c.online()
		}
		c.ride(i)
		if i%2 == 0 {
			c.order(i)
		}
		if i%10 == 9 {
			c.payOut(i)
		}
	}
	if c.kills != 2 {
		t.Errorf("the service was killed %d times", c.kills)
	}
	for _, what := range dayHas {
		if c.happened[what] == 0 {
			t.Errorf("the day had no %s", what)
		}
	}
	c.close()
	t.Logf("%d rides with %d kills, %v; %d completed fares of %s", c.rides, c.kills, c.happened, len(c.fares),
		amount(c.revenue()))
}

// What a day must have.
const (
	typo      = "fare that was mistyped and corrected"
	absurd    = "mistyped fare that was refused"
	deadPhone = "ride that an operator completed for a dead phone"
	noAnswer  = "offer that ended because a phone was dead"
	declined  = "declined offer"
	handOver  = "hand-over"
	released  = "ride given back"
	underWay  = "cancellation of a ride under way"
	cancelled = "cancellation by a rider"
	corrected = "correction of a fare"
	refunded  = "refund"
	withdrawn = "withdrawal"
	refused   = "refused withdrawal"
	called    = "caller who became a customer"
	booked    = "booking for later"
)

var dayHas = []string{typo, absurd, deadPhone, noAnswer, declined, handOver, released, underWay, cancelled, corrected,
	refunded, withdrawn, refused, called, booked}

// companyDay is a tenant, its people and what the script was told about its money.
type companyDay struct {
	world
	process *process
	clients map[string]string // by audience
	boss    *human
	riders  []*human
	drivers []*human
	service string // identifier of the service type
	diner   string // identifier of the business
	dish    string // identifier of the item on its menu

	calls, killAt, kills int
	cents                map[string]int64 // of the wallets, by person
	fares                map[string]int64 // of the completed trips
	versions             map[string]int   // of their receipts, where there is more than one
	posted               map[string]int64 // by operators, by type
	happened             map[string]int   // what of dayHas, and how often
	callers              map[int]*human   // who called, by number; they cannot sign in
	rides                int
	cancelled            int   // trips
	delivered, placed    int64 // sums of delivered orders, and of all
}

type human struct{ audience, email, id, token string }

const secret = "company-password"

func (c *companyDay) start() {
	c.Helper()
	program := detachedProgram(c.T)
	c.process = startDev(c.T, program, c.data, "")
	c.base = c.process.await(c.T)
}

func (c *companyDay) kill() {
	_ = c.process.cmd.Process.Kill() // it may have ended
	<-c.process.ended
}

// all returns everybody who can sign in.
func (c *companyDay) all() []*human {
	out := append(append([]*human{}, c.riders...), c.drivers...)
	if c.boss != nil {
		out = append(out, c.boss)
	}
	return out
}

// restart starts the killed service again. Its address is another one, so everybody
// signs in again.
func (c *companyDay) restart() {
	c.Helper()
	c.kill()
	c.start()
	c.kills++
	for _, h := range c.all() {
		c.signIn(h)
	}
}

func (c *companyDay) signIn(h *human) {
	c.Helper()
	o := flow.Options{BaseURL: c.base, Tenant: "bay", Audience: h.audience, Email: h.email, Password: secret,
		ClientID: c.clients[h.audience]}
	tokens, err := flow.Token(c.Context(), o)
	testkit.Must(c.T, err)
	c.clients[h.audience], h.token = tokens.ClientID, tokens.AccessToken
}

// told is the answer to a request.
type told map[string]any

func (a told) text(name string) string { return fmt.Sprint(a[name]) }

func (a told) cents(name string) int64 { return cents(a.text(name)) }

func cents(amount string) int64 { return money.Amount(amount).Decimal().Shift(2).IntPart() }

func (a told) items() (out []told) {
	list, _ := a["items"].([]any)
	for _, one := range list {
		if m, ok := one.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// amount returns cents as an amount.
func amount(cents int64) string { return decimal.New(cents, -2).StringFixed(2) }

// send sends a request until it is answered, with one Idempotency-Key. If the
// service was killed meanwhile, it is started again first.
func (c *companyDay) send(h *human, method, path, body string) (int, told) {
	c.Helper()
	c.calls++
	key := "call-" + strconv.Itoa(c.calls)
	if c.calls == c.killAt {
		victim := c.process.cmd.Process
		go func() {
			time.Sleep(time.Duration(rand.IntN(4000)) * time.Microsecond)
			_ = victim.Kill()
		}()
	}
	for range 100 {
		r, err := http.NewRequestWithContext(c.Context(), method, c.base+"/api/v1/"+path, strings.NewReader(body))
		testkit.Must(c.T, err)
		r.Header = http.Header{"Authorization": {"Bearer " + h.token}, "Content-Type": {"application/json"}}
		if method == http.MethodPost {
			r.Header.Set("Idempotency-Key", key)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			c.restart()
			continue
		}
		answer := told{}
		dec := json.NewDecoder(res.Body)
		dec.UseNumber()
		err = dec.Decode(&answer)
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		switch {
		case err != nil:
			c.restart()
		case res.StatusCode != http.StatusServiceUnavailable:
			return res.StatusCode, answer
		}
	}
	c.Fatalf("%s %s is never answered", method, path)
	return 0, nil
}

func (c *companyDay) must(h *human, method, path, body string) told {
	c.Helper()
	status, answer := c.send(h, method, path, body)
	if status/100 != 2 {
		c.Fatalf("%s %s %s: %d %v", method, path, body, status, answer)
	}
	return answer
}

// eventually sends a request until it succeeds: what it needs is written behind the
// stream.
func (c *companyDay) eventually(h *human, method, path, body string) told {
	c.Helper()
	for deadline := time.Now().Add(testkit.Patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if status, answer := c.send(h, method, path, body); status/100 == 2 {
			return answer
		} else if status != http.StatusConflict {
			c.Fatalf("%s %s %s: %d %v", method, path, body, status, answer)
		}
	}
	c.Fatalf("%s %s %s never succeeds", method, path, body)
	return nil
}

// found creates the company and does the rest by the API: people, prices, a zone,
// dispatch, a business with a menu, money in wallets.
func (c *companyDay) found() {
	c.Helper()
	c.ok("tenant", "create", "bay", "--name", "Bay", "--currency", "USD", "--flag", "taxiEnabled=true", "--flag",
		"deliveryEnabled=true", "--country", "US")
	c.ok("member", "add", "bay", "boss@bay.example", "--all", "--first", "Bo", "--last", "Ss", "--password", secret)
	c.boss = &human{audience: "dashboard", email: "boss@bay.example"}
	c.signIn(c.boss)
	for n := range 4 {
		c.drivers = append(c.drivers, c.invite("driver", "drivers", n))
		c.riders = append(c.riders, c.invite("rider", "customers", n))
	}
	c.service = c.must(c.boss, "POST", "services", `{"name":"Car","baseFare":3,"perKm":1.2,"commissionRate":0.2}`).text("id")
	c.must(c.boss, "POST", "zones", `{"name":"Bay","area":{"type":"Polygon","coordinates":[[[-75,40],[-73,40],[-73,41],`+
		`[-75,41],[-75,40]]]}}`)
	c.must(c.boss, "PATCH", "settings", `{"dispatch":{"mode":"offers","offerTimeoutSeconds":5,"searchRadiusKm":20,`+
		`"serviceArea":"strict"},"payments":{"cash":true,"card":true,"wallet":true}}`)
	c.diner = c.must(c.boss, "POST", "businesses", `{"name":"Diner","category":"restaurant","address":"1 Street",`+
		`"lat":40.7,"lng":-74,"deliveryFee":1.99}`).text("id")
	c.dish = c.must(c.boss, "POST", "businesses/"+c.diner+"/menu", `{"name":"Soup","price":7.15}`).text("id")
	for _, r := range c.riders {
		c.post(r, "customerId", "TOP_UP", 10_000, "")
	}
}

// invite invites somebody, who sets a password by the mailed link.
func (c *companyDay) invite(audience, collection string, n int) *human {
	c.Helper()
	h := &human{audience: audience, email: fmt.Sprintf("%s%d@bay.example", audience, n)}
	h.id = c.must(c.boss, "POST", collection, fmt.Sprintf(`{"email":%q,"firstName":"Ana","lastName":"N%d"}`, h.email,
		n)).text("id")
	browser := flow.NewBrowser(flow.Options{BaseURL: c.base})
	outbox, _, err := browser.Get(c.Context(), c.base+devpages.Outbox)
	testkit.Must(c.T, err)
	link := regexp.MustCompile(`href="(http[^"]+/oauth/password[^"]+)"`).FindStringSubmatch(outbox.Body) // the newest
	if link == nil {
		c.Fatalf("no link for %s: %s", h.email, outbox.Body)
	}
	page, _, err := browser.Fill(c.Context(), html.UnescapeString(link[1]), url.Values{"password": {secret},
		"again": {secret}})
	if err != nil || page.StatusCode >= http.StatusBadRequest {
		c.Fatalf("the password of %s: %d %v", h.email, page.StatusCode, err)
	}
	c.signIn(h)
	return h
}

// post posts to a wallet.
func (c *companyDay) post(h *human, member, kind string, value int64, more string) {
	c.Helper()
	c.eventually(c.boss, "POST", "wallets/postings", fmt.Sprintf(
		`{%q:%q,"type":%q,"amount":%s,"description":"Day"%s}`, member, h.id, kind, amount(value), more))
	c.cents[h.id] += value
	c.posted[kind] += value
}

// must409 sends a POST that the state of things does not allow.
func (c *companyDay) must409(h *human, path, body string) {
	c.Helper()
	if status, answer := c.send(h, "POST", path, body); status != http.StatusConflict {
		c.Fatalf("POST %s %s: %d %v", path, body, status, answer)
	}
}

// online has every driver report that he is near.
func (c *companyDay) online() {
	c.Helper()
	for n, d := range c.drivers {
		c.must(d, "PATCH", "me/status", `{"online":true}`)
		c.must(d, "PUT", "me/location", fmt.Sprintf(`{"lat":40.70%d,"lng":-74,"recordedAt":%q}`, n,
			time.Now().UTC().Format(time.RFC3339Nano)))
	}
}

// offered waits until a driver holds an offer of the trip, and returns the driver.
func (c *companyDay) offered(id string, not *human) *human {
	c.Helper()
	for deadline := time.Now().Add(testkit.Patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		for _, d := range c.drivers {
			for _, o := range c.must(d, "GET", "me/offers", "").items() {
				if o.text("tripId") == id && d != not {
					return d
				}
			}
		}
	}
	c.Fatalf("nobody is offered %s: %v", id, c.must(c.boss, "GET", "trips/"+id, ""))
	return nil
}
