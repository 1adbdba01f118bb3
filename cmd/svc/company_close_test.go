package main

import (
	"net/url"
	"strconv"
)

// close compares everything with the script's own sums.
func (c *companyDay) close() {
	c.Helper()
	c.ok("verify")
	same := func(what string, got, want int64) {
		c.Helper()
		if got != want {
			c.Errorf("%s: %s, the script's sum is %s", what, amount(got), amount(want))
		}
	}
	sums := map[string]int64{}
	for _, h := range c.all() {
		if h == c.boss {
			continue
		}
		same("the wallet of "+h.email, c.must(h, "GET", "me/wallet", "").cents("balance"), c.cents[h.id])
		sums[h.audience] += c.cents[h.id]
	}
	listed := map[string]int64{}
	c.each("wallets?type=customer&detail=1", func(one told) { listed[one.text("id")] = one.cents("balance") })
	for _, h := range c.callers {
		same("the wallet of a caller", listed[h.id], c.cents[h.id])
		sums[h.audience] += c.cents[h.id]
	}
	posted := map[string]int64{}
	for _, h := range c.riders {
		c.each("wallets/postings?customerId="+h.id, func(p told) { posted[p.text("type")] += p.cents("amount") })
	}
	for kind, sum := range c.posted {
		same("all postings of type "+kind, posted[kind], sum)
	}
	totals := c.must(c.boss, "GET", "wallets", "")
	for name, audience := range map[string]string{"drivers": "driver", "customers": "rider"} {
		total, _ := totals[name].(map[string]any)
		same("all wallets of "+name, told(total).cents("balance"), sums[audience])
	}
	for id, fare := range c.fares {
		receipt := c.must(c.boss, "GET", "trips/"+id+"/receipt", "")
		same("the receipt of "+id, receipt.cents("total"), fare)
		if version := receipt.text("version"); version != strconv.Itoa(max(1, c.versions[id])) {
			c.Errorf("the receipt of %s has version %s, not %d", id, version, max(1, c.versions[id]))
		}
	}
	report := c.must(c.boss, "GET", "reports/summary", "")
	same("revenue", report.cents("revenue"), c.revenue())
	statuses, _ := report["tripsByStatus"].(map[string]any)
	if report.text("completedTrips") != strconv.Itoa(len(c.fares)) ||
		told(statuses).text("CANCELLED") != strconv.Itoa(c.cancelled) {
		c.Errorf("the report has %v; the script completed %d and cancelled %d", report, len(c.fares), c.cancelled)
	}
	same("delivered orders", c.ordered("status=DELIVERED"), c.delivered)
	same("all orders", c.ordered(""), c.placed)
}

// each calls do for every item of a list.
func (c *companyDay) each(path string, do func(told)) {
	c.Helper()
	for cursor := ""; ; {
		page := c.must(c.boss, "GET", path+"&limit=200"+cursor, "")
		for _, one := range page.items() {
			do(one)
		}
		if page["next_cursor"] == nil {
			return
		}
		cursor = "&cursor=" + url.QueryEscape(page.text("next_cursor"))
	}
}

// ordered returns the sum of the company's orders.
func (c *companyDay) ordered(filter string) (sum int64) {
	c.Helper()
	c.each("orders?"+filter, func(o told) { sum += o.cents("total") })
	return sum
}

// revenue returns the sum of the fares.
func (c *companyDay) revenue() (sum int64) {
	for _, fare := range c.fares {
		sum += fare
	}
	return sum
}
