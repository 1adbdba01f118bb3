package health

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"svc/cmd/svc/cli"
)

// lagWindow is how far back deployedLag looks for measurements of IteratorAge.
const lagWindow = 15 * time.Minute

// deployedLag returns the lag of a deployed stream function as a text: the newest
// IteratorAge in CloudWatch, or why it is unknown. functions has the names of the
// deployed functions, word is the name on the command line, and function the logical id
// in template.yaml. Lambda measures the lag only while the function reads records.
func deployedLag(ctx context.Context, functions []string, word, function string) string {
	name := ""
	for _, one := range functions {
		// A function's name is the stack's name, its logical id and a suffix of CloudFormation.
		if strings.Contains(one, function) {
			name = one
		}
	}
	if name == "" {
		return "unknown: set STREAM_FUNCTIONS to the stack's output StreamFunctions"
	}
	cfg, err := cli.AWSConfig(ctx)
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
// measurement, and that minute. Both are zero if there is no measurement.
func iteratorAge(ctx context.Context, cfg aws.Config, function string, now time.Time) (
	age time.Duration, at time.Time, err error) {
	out, err := cloudwatch.NewFromConfig(cfg).GetMetricData(ctx, &cloudwatch.GetMetricDataInput{
		StartTime: aws.Time(now.Add(-lagWindow)), EndTime: &now, ScanBy: types.ScanByTimestampDescending,
		MetricDataQueries: []types.MetricDataQuery{{Id: aws.String("age"), MetricStat: &types.MetricStat{
			Period: aws.Int32(60), Stat: aws.String("Maximum"),
			Metric: &types.Metric{Namespace: aws.String("AWS/Lambda"), MetricName: aws.String("IteratorAge"),
				Dimensions: []types.Dimension{{Name: aws.String("FunctionName"), Value: &function}}}}}}})
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("CloudWatch: %w", err)
	}
	for _, r := range out.MetricDataResults {
		if len(r.Values) > 0 && len(r.Timestamps) > 0 {
			return time.Duration(r.Values[0] * float64(time.Millisecond)), r.Timestamps[0], nil
		}
	}
	return 0, time.Time{}, nil
}
