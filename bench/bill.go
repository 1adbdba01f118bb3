package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"svc/pkg/app"
)

//go:embed prices.json
var pricesFile []byte

// prices are in dollars: per million units or requests, per GB-second, per GB of
// logs, per GB stored for a month, and per month for what AWS bills monthly.
type prices struct {
	Source, Region, Date string

	ReadUnits, WriteUnits, GatewayRequests, LambdaRequests float64
	LambdaGBSecond, LogGB, StoredGBMonth                   float64

	MetricMonth, AlarmMetricMonth, CompositeAlarmMonth, DashboardMonth, KeyMonth float64

	Assumed struct {
		LogEventBytes            float64 // billed for each log line besides its text
		AuthorizationLogBytes    float64 // length of the authorization server's log line
		MillisecondsOfCPU        float64 // of a whole processor, for an operation that was not measured
		MillisecondsOfARoundTrip float64
	}
}

func readPrices() (p prices, err error) {
	if err = json.Unmarshal(pricesFile, &p); err != nil {
		err = fmt.Errorf("prices.json: %w", err)
	}
	return p, err
}

// parts are the costs of a million operations, in dollars.
type parts struct{ table, lambda, gateway, logs float64 }

func (p parts) sum() float64 { return p.table + p.lambda + p.gateway + p.logs }

// wholeCPU is the memory, in megabytes, with which Lambda gives a function one
// whole processor. Less memory gives it a part.
const wholeCPU = 1769

// deployed is what the bill reads of the template.
type deployed struct {
	Globals struct {
		Function struct {
			MemorySize int `yaml:"MemorySize"`
		} `yaml:"Function"`
	} `yaml:"Globals"`
	Resources map[string]struct {
		Type       string    `yaml:"Type"`
		Properties yaml.Node `yaml:"Properties"`
	} `yaml:"Resources"`
}

// sizes returns the memory of the template's functions, in megabytes.
func (t deployed) sizes() (map[string]int, error) {
	out := map[string]int{}
	for name, r := range t.Resources {
		own := struct {
			MemorySize int `yaml:"MemorySize"`
		}{t.Globals.Function.MemorySize}
		if r.Type != "AWS::Serverless::Function" {
			continue
		}
		if err := r.Properties.Decode(&own); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = own.MemorySize
	}
	return out, nil
}

// lambda returns the cost of a million events, in dollars. Each takes the given
// time and, in addition, waits for the given number of round trips to the table.
func (p prices) lambda(megabytes int, took time.Duration, waits int) float64 {
	seconds := took.Seconds() + p.Assumed.MillisecondsOfARoundTrip*float64(waits)/1000
	return p.LambdaRequests + seconds*float64(megabytes)/1024*p.LambdaGBSecond*1e6
}

// rates are what the costs of an operation depend on, in addition to its usage.
type rates struct {
	prices
	sizes  map[string]int     // megabytes, by function
	cpu    map[string]float64 // measured milliseconds of a whole processor, by marked title
	access accessLog
	stack  stack
}

// ratesOf reads the prices, the template and the document's measured processor
// time.
func ratesOf(template []byte, document string) (r rates, err error) {
	if r.prices, err = readPrices(); err != nil {
		return r, err
	}
	var t deployed
	if err := yaml.Unmarshal(template, &t); err != nil {
		return r, err
	}
	if r.sizes, err = t.sizes(); err != nil {
		return r, err
	}
	if r.access, err = t.accessLog(); err != nil {
		return r, err
	}
	if r.stack, err = t.standing(); err != nil {
		return r, err
	}
	r.cpu, err = cpuOf(document)
	return r, err
}

// of returns the costs of a million operations. An operation has u.requests
// requests. Each request logs two lines: the function's and the gateway's.
func (r rates) of(u usage) parts {
	p, a, megabytes := r.prices, r.Assumed, r.sizes[u.function]
	cpu, measured := r.cpu[marked(u.name)]
	if !measured {
		cpu = a.MillisecondsOfCPU
	}
	took := time.Duration(cpu / min(1, float64(megabytes)/wholeCPU) * float64(time.Millisecond))
	if u.logged == 0 {
		u.logged = int(a.AuthorizationLogBytes)
	}
	logged := float64(u.logged+len(r.access.line(u))) + 2*a.LogEventBytes
	return parts{table: u.all.reads*p.ReadUnits + u.all.writes*p.WriteUnits,
		lambda:  p.lambda(megabytes, took, u.trips) * float64(u.requests),
		gateway: p.GatewayRequests * float64(u.requests),
		logs:    logged / 1e9 * 1e6 * p.LogGB * float64(u.requests)}
}

// accessLog is the format of the lines of the gateway's access log.
type accessLog string

// accessLog returns the template's format.
func (t deployed) accessLog() (accessLog, error) {
	var api struct {
		AccessLogSettings struct {
			Format accessLog `yaml:"Format"`
		} `yaml:"AccessLogSettings"`
	}
	properties := t.Resources["HttpApi"].Properties
	err := properties.Decode(&api)
	return api.AccessLogSettings.Format, err
}

// line returns the access log's line for a successful request.
func (l accessLog) line(u usage) string {
	name, _, _ := strings.Cut(u.name, " (")
	name, _, _ = strings.Cut(name, "?")
	route := strings.Replace(name, " /", " /api/v1/", 1)
	if u.function == app.OAuth {
		route = "ANY /oauth/{proxy+}"
	}
	return strings.NewReplacer("$context.requestId", "JKJaXmPLvHcESHA=", "$context.routeKey", route,
		"$context.status", "200", "$context.responseLatency", "20", "$context.error.responseType", "-").
		Replace(string(l))
}

// completeRide requests a ride, completes it, and returns what its five requests,
// its settlement and its projection consume. After each request it waits until the
// stream functions are idle, so that no batch has records of two requests.
func (w *world) completeRide(ctx context.Context) (load, error) {
	idle := func() error { return w.service.Poller.Drain(ctx) }
	if err := idle(); err != nil {
		return load{}, err
	}
	w.keys.take()
	if _, err := w.drives(ctx, idle, "accept", "arrived", "start", "complete"); err != nil {
		return load{}, err
	}
	if err := idle(); err != nil {
		return load{}, err
	}
	_, all := w.keys.take()
	return all, nil
}

// billOf returns the tables with the costs of the operations, of a ride and of
// an idle stack.
func billOf(r rates, names []string, found map[string][]usage, rode load) string {
	var assumed []string
	for _, name := range names {
		if _, measured := r.cpu[marked(name)]; !measured {
			assumed = append(assumed, marked(name))
		}
	}
	var b strings.Builder
	b.WriteString("## The bill\n\n")
	prose(&b, "The table shows what a million requests of each kind cost, in dollars. The line of the sign-in is for a "+
		"million sign-ins of five requests. The costs follow from counted units and log bytes, and from the prices in "+
		"`bench/prices.json` (%s, %s; %s). The processor time of an operation is that of the table in *Processor time*. "+
		"A function has the share of a processor that its memory buys. Assumed and not measured on Lambda: %g ms for "+
		"each round trip; %g bytes billed for each log line in addition to its text; %g bytes for the authorization "+
		"server's log line; two round trips for each request to the authorization server; %g ms of processor time where "+
		"none is measured (%s). The costs do not include the hash of a password, nor that Lambda rounds each duration up "+
		"to a millisecond. Writes of a transaction count twice, as DynamoDB bills them.",
		r.Region, r.Date, r.Source, r.Assumed.MillisecondsOfARoundTrip, r.Assumed.LogEventBytes,
		r.Assumed.AuthorizationLogBytes, r.Assumed.MillisecondsOfCPU, strings.Join(assumed, ", "))
	dollars, rows := map[string]parts{}, make([][]string, len(names))
	for i, name := range names {
		u := found[name][0]
		dollars[name] = r.of(u)
		rows[i] = []string{marked(name), units(round(u.all.reads)), units(round(u.all.writes))}
		for _, cost := range []float64{dollars[name].table, dollars[name].lambda, dollars[name].gateway, dollars[name].logs} {
			rows[i] = append(rows[i], fmt.Sprintf("%.2f", cost))
		}
		rows[i] = append(rows[i], fmt.Sprintf("**%.2f**", dollars[name].sum()))
	}
	markdownTable(&b, []string{"endpoint", "read units", "write units", "table", "Lambda", "gateway", "logs", "together"},
		rows)
	r.ride(&b, dollars, rode)
	r.floor(&b, r.stack)
	return b.String()
}

// ride writes the cost of a million completed rides.
func (p prices) ride(b *strings.Builder, dollars map[string]parts, rode load) {
	others := 0.0 // than the table
	for name, d := range dollars {
		for _, step := range []string{"POST /me/trips (rider)", "/accept (", "/arrived (", "/start (", "/complete ("} {
			if strings.Contains(name, step) {
				others += d.sum() - d.table
			}
		}
	}
	table := rode.reads*p.ReadUnits + rode.writes*p.WriteUnits
	prose(b, "A completed ride takes %s read and %s write units, including settlement and projection. Here, the stream "+
		"records of each request were in a batch of their own; larger batches cost less. A million rides cost $%.2f for "+
		"the table and $%.2f for Lambda, gateway and logs of the five requests, together **$%.2f**. The Lambda time of "+
		"settlement and projection is not included.", units(round(rode.reads)),
		units(round(rode.writes)), table, others, table+others)
}

// stack counts the resources of a stack that AWS bills by the month. An anomaly
// detection alarm is billed as three metrics: its metric and two bounds.
type stack struct{ alarmed, composites, dashboards, keys, custom int }

// standing counts the template's resources. custom is the number of the service's
// own metrics that the alarms read.
func (t deployed) standing() (out stack, err error) {
	for _, r := range t.Resources {
		switch r.Type {
		case "AWS::CloudWatch::Alarm":
			text, err := yaml.Marshal(&r.Properties)
			if err != nil {
				return out, err
			}
			out.alarmed += max(1, strings.Count(string(text), "MetricStat:")) +
				2*strings.Count(string(text), "ANOMALY_DETECTION")
			out.custom += strings.Count(string(text), "svc/${AWS::StackName}")
		case "AWS::CloudWatch::CompositeAlarm":
			out.composites++
		case "AWS::CloudWatch::Dashboard":
			out.dashboards++
		case "AWS::KMS::Key":
			out.keys++
		}
	}
	return out, nil
}

// idle returns the monthly cost of a stack without requests.
func (s stack) idle(p prices) float64 {
	return float64(s.alarmed)*p.AlarmMetricMonth + float64(s.composites)*p.CompositeAlarmMonth +
		float64(s.dashboards)*p.DashboardMonth + float64(s.keys)*p.KeyMonth
}

// floor writes the monthly cost of a stack without requests. It also writes how much
// the service's own metrics add if every function gets a request in every hour of
// the month.
func (p prices) floor(b *strings.Builder, s stack) {
	prose(b, "A month without a request costs **$%.2f**: %d alarmed metrics, %d composite alarm, %d dashboard (the "+
		"first three of an account are free; then the month costs $%.2f) and %d key. A metric of the service costs only "+
		"in the hours in which it is sent. If every function gets requests in every hour of a month, up to %d metrics "+
		"add $%.2f. Each stored GB adds $%.2f a month, and $0.20 for its backup.",
		s.idle(p), s.alarmed, s.composites, s.dashboards,
		s.idle(p)-float64(s.dashboards)*p.DashboardMonth, s.keys, s.custom, float64(s.custom)*p.MetricMonth, p.StoredGBMonth)
}
