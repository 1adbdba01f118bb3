package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// localstack is a client of a LocalStack, an emulator of AWS. LocalStack accepts any
// credentials, and finds the service of a request in the scope of the credentials.
type localstack struct {
	endpoint string
	http     *http.Client
}

// region is the AWS region of every request.
const region = "us-east-1"

// send sends a request to an AWS service of LocalStack and returns the response body.
// kind is the content type, "" for none. A failed Lambda function is an error too.
func (l localstack) send(ctx context.Context, service, method, path, kind string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, l.endpoint+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", service, err)
	}
	req.Header.Set("Authorization",
		"AWS4-HMAC-SHA256 Credential=test/20260101/"+region+"/"+service+
			"/aws4_request, SignedHeaders=host, Signature=0")
	req.Header.Set("X-Amz-Date", "20260101T000000Z")
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	res, err := l.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", service, err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", service, err)
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, res.Status, bytes.TrimSpace(text))
	}
	if failed := res.Header.Get("X-Amz-Function-Error"); failed != "" {
		return nil, fmt.Errorf("%s: the function failed (%s): %s", path, failed, text)
	}
	return text, nil
}

// upload stores an object with the key in the S3 bucket.
func (l localstack) upload(ctx context.Context, bucket, key string, body []byte) error {
	_, err := l.send(ctx, "s3", http.MethodPut, "/"+bucket+"/"+key, "application/octet-stream", body)
	return err
}

// bucket creates the S3 bucket with the name, if it does not exist.
func (l localstack) bucket(ctx context.Context, name string) error {
	_, err := l.send(ctx, "s3", http.MethodPut, "/"+name, "", nil)
	return err
}

// invoke calls a Lambda function with the event {} and waits for the response.
func (l localstack) invoke(ctx context.Context, function string) error {
	_, err := l.send(ctx, "lambda", http.MethodPost, "/2015-03-31/functions/"+function+"/invocations",
		"application/json", []byte("{}"))
	return err
}

// formation calls an action of the CloudFormation API. form has the parameters.
func (l localstack) formation(ctx context.Context, action string, form url.Values) ([]byte, error) {
	form.Set("Action", action)
	form.Set("Version", "2010-05-15")
	return l.send(ctx, "cloudformation", http.MethodPost, "/", "application/x-www-form-urlencoded", []byte(form.Encode()))
}

// stack is the state of a CloudFormation stack.
type stack struct {
	Status  string `xml:"StackStatus"`
	Reason  string `xml:"StackStatusReason"`
	Outputs []struct {
		Key   string `xml:"OutputKey"`
		Value string `xml:"OutputValue"`
	} `xml:"Outputs>member"`
}

// errNoStack is the error for a stack that does not exist or is deleted.
var errNoStack = errors.New("there is no such stack")

// stack returns the state of a stack. The error is errNoStack if the stack does not exist
// or is deleted.
func (l localstack) stack(ctx context.Context, name string) (stack, error) {
	text, err := l.formation(ctx, "DescribeStacks", url.Values{"StackName": {name}})
	if err != nil {
		if strings.Contains(err.Error(), "does not exist") {
			err = errNoStack
		}
		return stack{}, err
	}
	var answer struct {
		Stacks []stack `xml:"DescribeStacksResult>Stacks>member"`
	}
	if err := xml.Unmarshal(text, &answer); err != nil {
		return stack{}, fmt.Errorf("DescribeStacks: %w", err)
	}
	if len(answer.Stacks) != 1 || answer.Stacks[0].Status == "DELETE_COMPLETE" {
		return stack{}, errNoStack
	}
	return answer.Stacks[0], nil
}

// create deletes the stack if it exists, and creates it from the template. When the stack
// is complete, create returns its outputs.
func (l localstack) create(ctx context.Context, name string, template object,
	parameters map[string]string) (map[string]string, error) {
	if _, err := l.stack(ctx, name); err == nil {
		if _, err := l.formation(ctx, "DeleteStack", url.Values{"StackName": {name}}); err != nil {
			return nil, err
		}
		for err := error(nil); !errors.Is(err, errNoStack); _, err = l.stack(ctx, name) {
			if err := pause(ctx); err != nil {
				return nil, fmt.Errorf("deleting the stack: %w", err)
			}
		}
	}
	text, err := json.Marshal(template)
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	// A template of more than 51,200 bytes must be in a bucket.
	if err := l.upload(ctx, bucket, templateKey, text); err != nil {
		return nil, err
	}
	form := url.Values{"StackName": {name}, "TemplateURL": {"https://s3.amazonaws.com/" + bucket + "/" + templateKey},
		"Capabilities.member.1": {"CAPABILITY_IAM"}}
	n := 0
	for key, value := range parameters {
		n++
		form.Set(fmt.Sprintf("Parameters.member.%d.ParameterKey", n), key)
		form.Set(fmt.Sprintf("Parameters.member.%d.ParameterValue", n), value)
	}
	if _, err := l.formation(ctx, "CreateStack", form); err != nil {
		return nil, err
	}
	for {
		s, err := l.stack(ctx, name)
		switch {
		case err != nil:
			return nil, err
		case s.Status == "CREATE_COMPLETE":
			out := map[string]string{}
			for _, o := range s.Outputs {
				out[o.Key] = o.Value
			}
			return out, nil
		case s.Status != "CREATE_IN_PROGRESS":
			return nil, fmt.Errorf("the stack is %s: %s", s.Status, s.Reason)
		}
		if err := pause(ctx); err != nil {
			return nil, fmt.Errorf("creating the stack: %w", err)
		}
	}
}

// pause waits a second, or until ctx ends.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Second):
		return nil
	}
}
