package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/internal/test/testkit"
	"svc/pkg/app"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
	"svc/pkg/edge/gateway/emulator"
)

// Prices in dollars, of us-east-1 on 23 November 2026: per million units or requests, per
// GB-second, per GB of logs, and per month (docs/operations/costs.md).
const (
	readUnits, gatewayRequests, lambdaRequests                   = 0.125, 1.00, 0.20
	gbSecond, logGB                                              = 0.0000133334, 0.50
	customMetric, alarmMetric, compositeAlarm, dashboard, aesKey = 0.30, 0.10, 0.50, 3.00, 1.00
)

// deployed is what of the template costs money.
type deployed struct {
	sizes                                            map[string]float64 // MB, by function
	accessLog                                        string
	alarmed, composites, dashboards, sealers, ofOurs int
}

// deployedOf reads the template, without what a parameter adds. An anomaly detection
// alarm is billed as three metrics: its metric and two bounds.
func deployedOf(t *testing.T) (d deployed) {
	t.Helper()
	decoded, err := emulator.Decode(svc.Template)
	testkit.Must(t, err)
	text, err := json.Marshal(decoded)
	testkit.Must(t, err)
	type function struct{ MemorySize float64 }
	var all struct {
		Globals   struct{ Function function }
		Resources map[string]struct {
			Type, Condition string
			Properties      json.RawMessage
		}
	}
	testkit.Must(t, json.Unmarshal(text, &all))
	d.sizes = map[string]float64{}
	for name, r := range all.Resources {
		if r.Condition != "" {
			continue
		}
		has := func(text string) int { return strings.Count(string(r.Properties), text) }
		switch r.Type {
		case "AWS::Serverless::Function":
			own := all.Globals.Function
			testkit.Must(t, json.Unmarshal(r.Properties, &own))
			d.sizes[name] = own.MemorySize
		case "AWS::Serverless::HttpApi":
			var gateway struct{ AccessLogSettings struct{ Format string } }
			testkit.Must(t, json.Unmarshal(r.Properties, &gateway))
			d.accessLog = gateway.AccessLogSettings.Format
		case "AWS::CloudWatch::Alarm":
			d.alarmed += max(1, has(`"MetricStat":`)-has(`{"Fn::If":["HasEventStreams",{`)) + 2*has("ANOMALY_DETECTION")
			d.ofOurs += has("svc/${AWS::StackName}")
		case "AWS::CloudWatch::CompositeAlarm":
			d.composites++
		case "AWS::CloudWatch::Dashboard":
			d.dashboards++
		case "AWS::KMS::Key":
			d.sealers++
		}
	}
	return d
}

// TestAuthorizedReadCosts: a million authorized reads cost at most $2.00, rounded to the
// cent. TestUnits holds the units; the processor time is that of the last make cpu.
func TestAuthorizedReadCosts(t *testing.T) {
	const most, wholeCPU, roundTrip, logEvent = 2.00, 1769.0, 5.0, 26.0
	text, err := os.ReadFile(unitsFile)
	testkit.Must(t, err)
	_, row, _ := strings.Cut(string(text), "\nGET /me (rider) ")
	me := append(cells("GET /me (rider)  "+strings.SplitN(row, "\n", 2)[0]), "", "", "")
	read, err := strconv.ParseFloat(me[reads], 64)
	if err != nil || me[rounds] != "1" || read < 5 || me[writes] != "0" {
		t.Fatalf("%s has %q, want 1 round trip, at least 5 read units and none to write: %v", unitsFile, me, err)
	}
	measured, err := usedBefore()
	testkit.Must(t, err)
	d := deployedOf(t)
	line := strings.NewReplacer("$context.requestId", "JKJaXmPLvHcESHA=", "$context.routeKey", "GET /api/v1/me",
		"$context.status", "200", "$context.responseLatency", "20", "$context.error.responseType", "-").Replace(d.accessLog)
	if line != "req_JKJaXmPLvHcESHA= 200 20 - GET /api/v1/me" {
		t.Errorf("the gateway logs %q", line)
	}
	var log bytes.Buffer
	app.Requests(&log, app.Me)(t.Context(), api.Observation{RequestID: "req_JKJaXmPLvHcESHA=", Operation: "svc_me",
		Status: 200, Tenant: ids.New(ids.Tenant, time.Now()), Client: ids.New(ids.Client, time.Now()),
		Elapsed: 8 * time.Millisecond, Usage: table.Usage{Sequential: 1, ReadUnits: read}})
	took := ms(measured["GET /me (rider)"].CPU)
	if took == 0 {
		t.Error("make cpu has not measured GET /me (rider)")
	}
	lambda := (took/min(1, d.sizes[app.Me]/wholeCPU) + roundTrip) / 1000 * d.sizes[app.Me] / 1024 * gbSecond * 1e6
	logs := (float64(log.Len()+len(line)) + 2*logEvent) / 1000 * logGB
	if sum := read*readUnits + gatewayRequests + lambdaRequests + lambda + logs; sum >= most+0.005 || lambda <= 0 {
		t.Errorf("a million authorized reads cost $%.4f, want at most $%.2f: Lambda's time $%.4f, logs $%.4f", sum, most,
			lambda, logs)
	}
}

// TestIdleFloor: a stack without requests costs at most $10 a month, and at
// most $7 if its dashboard is one of the account's three free ones.
func TestIdleFloor(t *testing.T) {
	d := deployedOf(t)
	if d.alarmed == 0 || d.composites == 0 || d.dashboards == 0 || d.sealers == 0 || d.ofOurs == 0 {
		t.Errorf("the template has %+v", d)
	}
	free := float64(d.alarmed)*alarmMetric + float64(d.composites)*compositeAlarm + float64(d.sealers)*aesKey
	if idle := free + float64(d.dashboards)*dashboard; idle > 10 || free > 7 || d.ofOurs > 12 {
		t.Errorf("idle costs $%.2f, with %d metrics of ours at $%.2f each", idle, d.ofOurs, customMetric)
	}
}
