package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"svc/pkg/base/config"
	"svc/pkg/base/panics"
)

// Times of a smoke test. Its function has 120 seconds.
const (
	smokeOne    = 20 * time.Second // the longest time of one call, cold start included
	smokePause  = 2 * time.Second  // before a repeated call
	smokeReport = 20 * time.Second // part of the function's time that is reserved for the report
	smokeTries  = 3                // attempts of a call, and of the report
)

// lifecycle is the event with which CodeDeploy calls a hook.
type lifecycle struct {
	DeploymentID string `json:"DeploymentId"`
	ExecutionID  string `json:"LifecycleEventHookExecutionId"`
}

// smoke is the hook that CodeDeploy calls before the new version of a function
// gets traffic. CodeDeploy does not say which function it deploys, so each call
// of the hook tries the new versions of all functions that handle requests.
type smoke struct {
	log     *slog.Logger
	baseURL string // the functions' BASE_URL; if it is "", they take the address from the event
	config  config.Config
	load    Loader
	call    time.Duration
	pause   time.Duration
}

// SmokeTest is the Serve of SmokeFunction, the hook of CodeDeploy (smoke). An environment
// variable with the name of each function has the ARN of its new version.
func SmokeTest(p *Runtime, _ string) (any, error) { return newSmoke(p).handle, nil }

// newSmoke returns the smoke test with the function's configuration.
func newSmoke(p *Runtime) *smoke {
	return &smoke{log: p.Logger, baseURL: p.BaseURL, config: p.Config, load: p.aws, call: smokeOne,
		pause: smokePause}
}

// handle runs the smoke test and reports the result to CodeDeploy. It reports in any
// case, because CodeDeploy waits an hour for a hook that does not report.
func (s *smoke) handle(ctx context.Context, e lifecycle) error {
	status := "Succeeded"
	for _, err := range s.failures(ctx) {
		s.log.ErrorContext(ctx, "the smoke test failed", "deployment", e.DeploymentID, "error", err)
		status = "Failed"
	}
	s.log.InfoContext(ctx, "smoke test", "deployment", e.DeploymentID, "status", status)
	return s.untilItSucceeds(ctx, func() error { return s.report(ctx, e, status) })
}

// failures runs the smoke test and returns what failed: at most one call for each
// function, and unknown words in SWITCHED_OFF. A panic is a failure too. If a variable
// has a wrong value, failures makes no call and returns that error alone.
func (s *smoke) failures(ctx context.Context) (failed []error) {
	err := panics.Try(func() error {
		failed = s.tried(ctx)
		return nil
	})
	if err != nil {
		failed = append(failed, err)
	}
	return failed
}

// tried implements failures, but does not recover from panics.
func (s *smoke) tried(ctx context.Context) (failed []error) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-smokeReport))
		defer cancel()
	}
	if s.config.Wrong != nil {
		return []error{s.config.Wrong}
	}
	f := newFront(s.config)
	// The functions read the same variable. They ignore a misspelt word, so the
	// smoke test must report it.
	if unknown := unknownSwitches(s.config); len(unknown) > 0 {
		failed = append(failed, fmt.Errorf("SWITCHED_OFF has words that switch nothing off: %q", unknown))
	}
	for _, function := range append(RequestFunctions(), Events) {
		version := s.config.Versions[function]
		if function == Events && version == "" { // the stack has no EventsFunction
			continue
		}
		for _, c := range probes(function) {
			if err := s.untilItSucceeds(ctx, func() error { return s.try(ctx, version, c, f) }); err != nil {
				failed = append(failed, fmt.Errorf("%s: %s %s: %w", function, c.method, c.path, err))
				break // the other calls to this function would most likely fail too
			}
		}
	}
	return failed
}

// untilItSucceeds runs do until it succeeds, at most smokeTries times, because a
// throttled call proves nothing about a version.
func (s *smoke) untilItSucceeds(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if err == nil || try == smokeTries {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(s.pause):
		}
	}
}

// try makes the call c to one version of a function and checks the response. version is
// the ARN of the version.
func (s *smoke) try(ctx context.Context, version string, c probe, f front) error {
	ctx, cancel := context.WithTimeout(ctx, s.call)
	defer cancel()
	answer, err := s.invoke(ctx, version, c.event(s.address()))
	if err != nil {
		return err
	}
	return c.checkResponse(answer, s.address(), f.off[c.off])
}

// address returns the service's address for the event of a call: BASE_URL, or an invented
// address if BASE_URL is not set.
func (s *smoke) address() string {
	if s.baseURL == "" {
		return "https://smoke.invalid"
	}
	return s.baseURL
}

// invoke calls one version of a function with Lambda's API operation Invoke. version is
// the ARN of the version.
func (s *smoke) invoke(ctx context.Context, version string, event []byte) ([]byte, error) {
	part := strings.Split(version, ":") // arn:aws:lambda:REGION:ACCOUNT:function:NAME:VERSION
	if len(part) != 8 {
		return nil, fmt.Errorf("the environment variable of the function is %q; expected the ARN of a version", version)
	}
	res, err := s.aws(ctx, AWSCall{Service: "lambda", Method: http.MethodPost, Body: event,
		URL:    "/2015-03-31/functions/" + part[6] + "/invocations?Qualifier=" + part[7],
		Header: map[string]string{"Content-Type": "application/json"}})
	switch {
	case err != nil:
		return nil, err
	case res.Header.Get("X-Amz-Function-Error") != "":
		return nil, fmt.Errorf("the function fails: %.300s", res.Body)
	}
	return res.Body, nil
}

// report sends the status, "Succeeded" or "Failed", to CodeDeploy.
func (s *smoke) report(ctx context.Context, e lifecycle, status string) error {
	body, err := json.Marshal(map[string]string{"deploymentId": e.DeploymentID,
		"lifecycleEventHookExecutionId": e.ExecutionID, "status": status})
	if err != nil {
		return err
	}
	_, err = s.aws(ctx, AWSCall{Service: "codedeploy", Method: http.MethodPost, URL: "/", Body: body,
		Header: map[string]string{"Content-Type": "application/x-amz-json-1.1",
			"X-Amz-Target": "CodeDeploy_20141006.PutLifecycleEventHookExecutionStatus"}})
	return err
}

// aws sends the call, whose URL is a path, to the service's endpoint.
// AWS_ENDPOINT_URL_LAMBDA and AWS_ENDPOINT_URL_CODEDEPLOY replace the public
// endpoints.
func (s *smoke) aws(ctx context.Context, c AWSCall) (AWSResponse, error) {
	cfg, err := s.load(ctx)
	if err != nil {
		return AWSResponse{}, err
	}
	c.URL = Endpoint(c.Service, c.Service, cfg) + c.URL
	res, err := c.Do(ctx, cfg)
	if err == nil && res.Status != http.StatusOK {
		err = fmt.Errorf("%s answers %d: %.300s", c.Service, res.Status, res.Body)
	}
	return res, err
}
