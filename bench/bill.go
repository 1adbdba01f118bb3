package main

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"svc/pkg/app"
	"svc/pkg/edge/gateway/emulator"
	"svc/pkg/local/markdown"
	"svc/pkg/local/script"
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

// parts are the costs of a million operations, in dollars.
type parts struct{ table, lambda, gateway, logs float64 }

func (p parts) sum() float64 { return p.table + p.lambda + p.gateway + p.logs }

// wholeCPU is the memory, in megabytes, with which Lambda gives a function one
// whole processor. Less memory gives it a part.
const wholeCPU = 1769

// rates has everything but the usage that the costs of an operation depend on.
type rates struct {
	prices
	sizes  map[string]int  // megabytes, by function
	used   map[string]used // measured, by title
	access accessLog
	stack  stack
}

// accessLog is the format of the lines of the gateway's access log.
type accessLog string

// stack counts the resources of a stack that AWS bills by the month. An anomaly
// detection alarm is billed as three metrics: its metric and two bounds. custom is the
// number of the service's own metrics that the alarms read.
type stack struct{ alarmed, composites, dashboards, keys, custom int }

// ratesOf reads the prices, the template and the measured processor time.
func ratesOf(template []byte) (r rates, err error) {
	if err := json.Unmarshal(pricesFile, &r.prices); err != nil {
		return r, fmt.Errorf("prices.json: %w", err)
	}
	decoded, err := emulator.Decode(template)
	if err != nil {
		return r, err
	}
	text, err := json.Marshal(decoded)
	if err != nil {
		return r, err
	}
	var t struct {
		Globals   struct{ Function struct{ MemorySize int } }
		Resources map[string]struct {
			Type, Condition string
			Properties      json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &t); err != nil {
		return r, err
	}
	r.sizes = map[string]int{}
	for name, resource := range t.Resources {
		if resource.Condition != "" { // what a parameter adds to the stack
			continue
		}
		has := func(text string) int { return strings.Count(string(resource.Properties), text) }
		switch resource.Type {
		case "AWS::Serverless::Function":
			own := t.Globals.Function
			err = json.Unmarshal(resource.Properties, &own)
			r.sizes[name] = own.MemorySize
		case "AWS::Serverless::HttpApi":
			var api struct{ AccessLogSettings struct{ Format accessLog } }
			err = json.Unmarshal(resource.Properties, &api)
			r.access = api.AccessLogSettings.Format
		case "AWS::CloudWatch::Alarm":
			r.stack.alarmed += max(1, has(`"MetricStat":`)-has(`{"Fn::If":["HasEventStreams",{`)) + 2*has("ANOMALY_DETECTION")
			r.stack.custom += has("svc/${AWS::StackName}")
		case "AWS::CloudWatch::CompositeAlarm":
			r.stack.composites++
		case "AWS::CloudWatch::Dashboard":
			r.stack.dashboards++
		case "AWS::KMS::Key":
			r.stack.keys++
		}
		if err != nil {
			return r, fmt.Errorf("%s: %w", name, err)
		}
	}
	r.used, err = usedBefore()
	return r, err
}

// of returns the costs of a million operations. An operation has u.requests
// requests. Each request waits for u.trips round trips to the table, and logs two lines:
// the function's and the gateway's.
func (r rates) of(u usage) parts {
	p, a, megabytes := r.prices, r.Assumed, float64(r.sizes[u.function])
	cpu := cmp.Or(float64(r.used[u.name].CPU)/1e6, a.MillisecondsOfCPU)
	u.logged = cmp.Or(u.logged, int(a.AuthorizationLogBytes))
	seconds := (cpu/min(1, megabytes/wholeCPU) + a.MillisecondsOfARoundTrip*float64(u.trips)) / 1000
	logged, requests := float64(u.logged+len(r.access.line(u)))+2*a.LogEventBytes, float64(u.requests)
	return parts{table: u.all.reads*p.ReadUnits + u.all.writes*p.WriteUnits,
		lambda:  (p.LambdaRequests + seconds*megabytes/1024*p.LambdaGBSecond*1e6) * requests,
		gateway: p.GatewayRequests * requests,
		logs:    logged / 1e9 * 1e6 * p.LogGB * requests}
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
	if err := w.service.Poller.Drain(ctx); err != nil {
		return load{}, err
	}
	w.keys.take()
	ride := script.Ride{Asks: w.fill(`"paymentType":"CARD","serviceTypeId":"{service}"`)}
	_, err := ride.Take(func(c script.Call) (json.RawMessage, error) {
		answer, err := w.call(ctx, c.As, "POST "+strings.TrimPrefix(c.Path, "/api/v1"), c.Body)
		return answer, errors.Join(err, w.service.Poller.Drain(ctx))
	})
	_, all := w.keys.take()
	return all, err
}

// billOf returns the tables with the costs of the operations, of a ride and of
// an idle stack.
func billOf(r rates, last []usage, found map[string][]usage, rode load) string {
	var assumed []string
	dollars, rows := map[string]parts{}, make([][]string, len(last))
	for i, one := range last {
		u, name := found[one.name][0], marked(one.name)
		if r.used[one.name].CPU == 0 {
			assumed = append(assumed, name)
		}
		cost := r.of(u)
		dollars[one.name], rows[i] = cost, []string{name, units(u.all.reads), units(u.all.writes)}
		for _, part := range []float64{cost.table, cost.lambda, cost.gateway, cost.logs} {
			rows[i] = append(rows[i], fmt.Sprintf("%.2f", part))
		}
		rows[i] = append(rows[i], fmt.Sprintf("**%.2f**", cost.sum()))
	}
	a := r.Assumed
	text := "## The bill\n\n" + paragraph("bill", r.Region, r.Date, r.Source, a.MillisecondsOfARoundTrip,
		a.LogEventBytes, a.AuthorizationLogBytes, a.MillisecondsOfCPU, strings.Join(assumed, ", "))
	return text + markdown.Table([]string{"endpoint", ">read units", ">write units", ">table", ">Lambda", ">gateway",
		">logs", ">together"}, rows) + "\n" + r.ride(dollars, rode) + r.floor(r.stack)
}

// ride describes the cost of a million completed rides.
func (p prices) ride(dollars map[string]parts, rode load) string {
	others := 0.0 // than the table
	for name, d := range dollars {
		for _, step := range []string{"POST /me/trips (rider)", "/accept (", "/arrived (", "/start (", "/complete ("} {
			if strings.Contains(name, step) {
				others += d.sum() - d.table
			}
		}
	}
	table := rode.reads*p.ReadUnits + rode.writes*p.WriteUnits
	return paragraph("ride", units(rode.reads), units(rode.writes), table, others, table+others)
}

// idle returns the monthly cost of a stack without requests.
func (s stack) idle(p prices) float64 {
	return float64(s.alarmed)*p.AlarmMetricMonth + float64(s.composites)*p.CompositeAlarmMonth +
		float64(s.dashboards)*p.DashboardMonth + float64(s.keys)*p.KeyMonth
}

// floor describes the monthly cost of a stack without requests, and how much
// the service's own metrics add if every function gets a request in every hour of
// the month.
func (p prices) floor(s stack) string {
	return paragraph("floor", s.idle(p), s.alarmed, s.composites, s.dashboards,
		s.idle(p)-float64(s.dashboards)*p.DashboardMonth, s.keys, s.custom, float64(s.custom)*p.MetricMonth, p.StoredGBMonth)
}
