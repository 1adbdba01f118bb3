package main

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"svc/pkg/app"
)

// lagWindow is the age of the oldest IteratorAge that deployedLag reads.
const lagWindow = 15 * time.Minute

// deployedLag returns the lag of a deployed stream function as a text: the newest
// IteratorAge in CloudWatch, or why it is unknown. Lambda measures it only while
// the function reads records.
func deployedLag(ctx context.Context, word, function string) string {
	name := ""
	for one := range strings.SplitSeq(os.Getenv("STREAM_FUNCTIONS"), ",") {
		// A name is the stack's name, the logical id and a suffix of CloudFormation.
		if strings.Contains(one, function) {
			name = strings.TrimSpace(one)
		}
	}
	if name == "" {
		return "unknown: set STREAM_FUNCTIONS to the stack's output StreamFunctions"
	}
	cfg, err := awsConfig(ctx)
	if err != nil {
		return err.Error()
	}
	age, at, err := iteratorAge(ctx, cfg, name, time.Now())
	switch {
	case err != nil:
		return err.Error()
	case at.IsZero():
		return fmt.Sprintf("none measured in %s: %s read no records", lagWindow, word)
	}
	return fmt.Sprintf("%s at %s", age.Round(time.Millisecond), at.UTC().Format("15:04 UTC"))
}

// iteratorAge returns the largest IteratorAge of the newest minute with a
// measurement, and that minute. Both are zero if there is no measurement. It
// signs its request itself, as deployedLogs does.
func iteratorAge(ctx context.Context, cfg aws.Config, function string, now time.Time) (
	age time.Duration, at time.Time, err error) {
	const query, metric = "MetricDataQueries.member.1.", "MetricDataQueries.member.1.MetricStat."
	form := url.Values{"Action": {"GetMetricData"}, "Version": {"2010-08-01"}, "ScanBy": {"TimestampDescending"},
		"StartTime": {now.Add(-lagWindow).UTC().Format(time.RFC3339)}, "EndTime": {now.UTC().Format(time.RFC3339)},
		query + "Id": {"age"}, metric + "Period": {"60"}, metric + "Stat": {"Maximum"},
		metric + "Metric.Namespace": {"AWS/Lambda"}, metric + "Metric.MetricName": {"IteratorAge"},
		metric + "Metric.Dimensions.member.1.Name":  {"FunctionName"},
		metric + "Metric.Dimensions.member.1.Value": {function}}
	endpoint := app.Endpoint("cloudwatch", "monitoring", cfg)
	res, err := app.AWSCall{Service: "monitoring", Method: http.MethodPost, URL: endpoint + "/",
		Body:   []byte(form.Encode()),
		Header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}.Do(ctx, cfg)
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("CloudWatch: %w", err)
	}
	var out struct {
		Code       string      `xml:"Error>Code"`
		Message    string      `xml:"Error>Message"`
		Timestamps []time.Time `xml:"GetMetricDataResult>MetricDataResults>member>Timestamps>member"`
		Values     []string    `xml:"GetMetricDataResult>MetricDataResults>member>Values>member"`
	}
	err = xml.Unmarshal(res.Body, &out)
	switch {
	case res.Status != http.StatusOK:
		return 0, time.Time{}, fmt.Errorf("CloudWatch responds %d %s %s", res.Status, out.Code, out.Message)
	case err != nil:
		return 0, time.Time{}, fmt.Errorf("CloudWatch: %w", err)
	case len(out.Values) == 0 || len(out.Timestamps) == 0:
		return 0, time.Time{}, nil
	}
	millis, err := strconv.ParseFloat(out.Values[0], 64)
	if err != nil {
		return 0, time.Time{}, errors.New("CloudWatch sent a value that is not a number")
	}
	return time.Duration(millis * float64(time.Millisecond)), out.Timestamps[0], nil
}
