package emulator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc"
	"svc/pkg/edge/gateway/emulator"
)

func TestSchedules(t *testing.T) {
	got, err := emulator.Schedules(svc.Template)
	want := []emulator.Schedule{
		{Function: "DeliverFunction", Rate: time.Minute, Timeout: 30 * time.Second},
		{Function: "DispatchFunction", Rate: time.Minute, Timeout: time.Minute},
		{Function: "JobsFunction", Rate: time.Minute, Timeout: 5 * time.Minute},
		{Function: "KeysFunction", Rate: 24 * time.Hour, Timeout: 15 * time.Second},
		{Function: "SettlementFunction", Rate: time.Hour, Timeout: time.Minute},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestSchedulesRefuses(t *testing.T) {
	const template = `
Resources:
  F:
    Type: AWS::Serverless::Function
    Properties: {Events: {S: {Type: ScheduleV2, Properties: {ScheduleExpression: RATE}}}}
`
	for rate, want := range map[string]time.Duration{"rate(1 minute)": time.Minute, "rate(90 minutes)": 90 * time.Minute,
		"rate(1 hour)": time.Hour, "rate(0 hours)": 0, "cron(0 12 * * ? *)": 0, "rate(2 weeks)": 0, "rate(hour)": 0} {
		got, err := emulator.Schedules([]byte(strings.Replace(template, "RATE", rate, 1)))
		if (err == nil) != (want > 0) || want > 0 && got[0].Rate != want {
			t.Errorf("%s: %v, %v", rate, got, err)
		}
	}
}
