package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"svc/pkg/app"
)

// Bounds of a search in CloudWatch Logs: pages read, and lines shown.
const (
	logPages = 100
	logLines = 100
)

// logLine is one line of the functions' log.
type logLine struct {
	Time time.Time       `json:"time"`
	Line json.RawMessage `json:"line"`
}

// deployedLogs finds the lines of the functions' log that contain a request's
// id. Like the service's mail, it signs its requests itself: the SDK's client
// would add a module for one call.
func deployedLogs(ctx context.Context, id string, since time.Duration) ([]logLine, error) {
	group := os.Getenv("LOG_GROUP")
	if group == "" {
		return nil, errors.New("the log group is not known; set LOG_GROUP to the stack's output LogGroupName")
	}
	cfg, err := awsConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("configuration of the AWS SDK: %w", err)
	}
	begin := time.Now().Add(-since).UnixMilli()
	request := map[string]any{"logGroupName": group, "filterPattern": `"` + printableID(id) + `"`, "startTime": begin}
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
			found = append(found, logLine{time.UnixMilli(e.Timestamp).UTC(), line})
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
	endpoint := os.Getenv("AWS_ENDPOINT_URL_CLOUDWATCH_LOGS")
	if endpoint == "" && cfg.BaseEndpoint != nil {
		endpoint = *cfg.BaseEndpoint
	}
	if endpoint == "" {
		endpoint = "https://logs." + cfg.Region + ".amazonaws.com"
	}
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
