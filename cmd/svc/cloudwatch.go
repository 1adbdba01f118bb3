package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"svc/pkg/app"
	"svc/pkg/base/ids"
)

// Bounds of a search in CloudWatch Logs: pages read and lines found in one
// group, and ids searched for.
const (
	logPages = 100
	logLines = 100
	logIDs   = 20
)

// logLine is one line of the functions' log.
type logLine struct {
	Time time.Time       `json:"time"`
	Line json.RawMessage `json:"line"`
}

// deployedLogs finds the lines of the functions and the gateway that contain a
// request's id, oldest first. It also shows lines that Lambda itself writes,
// such as a timeout: the gateway's line names the invocation. It signs its
// requests itself, as the service's mail does, because the SDK's client would
// add a module for one call.
func deployedLogs(ctx context.Context, id string, since time.Duration) ([]logLine, error) {
	groups := strings.FieldsFunc(os.Getenv("LOG_GROUP"), func(r rune) bool { return r == ',' || r == ' ' })
	if len(groups) == 0 {
		return nil, errors.New("the log groups are not known; set LOG_GROUP to the stack's output LogGroups")
	}
	cfg, err := awsConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("configuration of the AWS SDK: %w", err)
	}
	begin := time.Now().Add(-since)
	found, asked := []logLine{}, []string{}
	for next := []string{id}; len(next) > 0; next = otherIDs(found, asked) {
		asked = append(asked, next...)
		for _, group := range groups {
			lines, err := filterLogs(ctx, cfg, group, next, begin)
			if err != nil {
				return nil, err
			}
			found = append(found, lines...)
		}
	}
	slices.SortStableFunc(found, func(a, b logLine) int {
		return cmp.Or(a.Time.Compare(b.Time), bytes.Compare(a.Line, b.Line))
	})
	return slices.CompactFunc(found, func(a, b logLine) bool {
		return a.Time.Equal(b.Time) && bytes.Equal(a.Line, b.Line)
	}), nil
}

// otherIDs returns further ids that the lines contain: the gateway's and
// Lambda's.
func otherIDs(lines []logLine, asked []string) (others []string) {
	for _, l := range lines {
		var line struct {
			Gateway string `json:"gateway_id"`
			Lambda  string `json:"lambda_id"`
		}
		_ = json.Unmarshal(l.Line, &line) // not an object: it names none
		for _, id := range []string{line.Gateway, line.Lambda} {
			known := slices.Contains(asked, id) || slices.Contains(others, id)
			if len(id) > 1 && !known && len(asked)+len(others) < logIDs { // "-" is none
				others = append(others, id)
			}
		}
	}
	return others
}

// anyOf returns the filter pattern of the lines with one of the ids. A
// response's header Apigw-Requestid lacks the prefix of the logged id.
func anyOf(named []string) string {
	var terms []string
	for _, id := range named {
		terms = append(terms, `?"`+printableID(id)+`"`)
		if !strings.HasPrefix(id, ids.Request+"_") {
			terms = append(terms, `?"`+ids.Request+"_"+printableID(id)+`"`)
		}
	}
	return strings.Join(terms, " ")
}

// mentions reports whether a line contains one of the ids. LocalStack sends
// lines that its pattern does not match.
func mentions(line []byte, named []string) bool {
	return slices.ContainsFunc(named, func(id string) bool { return bytes.Contains(line, []byte(id)) })
}

// filterLogs reads the pages of FilterLogEvents for the lines of a group with
// one of the ids.
func filterLogs(ctx context.Context, cfg aws.Config, group string, named []string, begin time.Time) ([]logLine,
	error) {
	request := map[string]any{"logGroupName": group, "filterPattern": anyOf(named), "startTime": begin.UnixMilli()}
	found := []logLine{}
	for range logPages {
		var page struct {
			Events []struct {
				Timestamp int64  `json:"timestamp"`
				Message   string `json:"message"`
			} `json:"events"`
			NextToken string `json:"nextToken"`
		}
		if err := callLogs(ctx, cfg, request, &page); err != nil {
			return nil, err
		}
		for _, e := range page.Events {
			line := json.RawMessage(strings.TrimSpace(e.Message))
			if !json.Valid(line) {
				line, _ = json.Marshal(e.Message) // a string always has a JSON form
			}
			if mentions(line, named) {
				found = append(found, logLine{time.UnixMilli(e.Timestamp).UTC(), line})
			}
		}
		if page.NextToken == "" || len(found) >= logLines {
			return found, nil
		}
		request["nextToken"] = page.NextToken
	}
	return found, nil
}

// callLogs sends FilterLogEvents and decodes its response.
func callLogs(ctx context.Context, cfg aws.Config, request, page any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("CloudWatch Logs: %w", err)
	}
	endpoint := app.Endpoint("cloudwatch_logs", "logs", cfg)
	res, err := app.AWSCall{Service: "logs", Method: http.MethodPost, URL: endpoint, Body: body,
		Header: map[string]string{"Content-Type": "application/x-amz-json-1.1",
			"X-Amz-Target": "Logs_20140328.FilterLogEvents"}}.Do(ctx, cfg)
	if err != nil {
		return fmt.Errorf("CloudWatch Logs: %w", err)
	}
	if res.Status != http.StatusOK {
		var fault struct {
			Type    string `json:"__type"`
			Message string `json:"message"`
		}
		_ = json.Unmarshal(res.Body, &fault) // not JSON: the status says enough
		return fmt.Errorf("CloudWatch Logs responds %d %s %s", res.Status, fault.Type, fault.Message)
	}
	if err := json.Unmarshal(res.Body, page); err != nil {
		return fmt.Errorf("CloudWatch Logs: %w", err)
	}
	return nil
}
