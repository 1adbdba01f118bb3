package emulator_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"svc"
	"svc/pkg/edge/gateway/emulator"
)

// small is a template with one route of every kind.
const small = `
AWSTemplateFormatVersion: '2010-09-09'
Transform: AWS::Serverless-2016-10-31
Parameters:
  Fleet: {Type: String, Default: 'no'}
  Root: {Type: String, Default: /pets}
Conditions:
  HasFleet: !Not [!Equals [!Ref Fleet, 'no']]
  Always: !Equals [a, a]
Globals: {Function: {Timeout: 60}}
Resources:
  Api:
    Type: AWS::Serverless::HttpApi
    Properties:
      CorsConfiguration:
        {AllowOrigins: ['*'], AllowMethods: [GET], AllowHeaders: [X-A], ExposeHeaders: [X-B], MaxAge: 60}
  Pets:
    Type: AWS::Serverless::Function
    Condition: Always
    Properties:
      Environment: {Variables: {A: !GetAtt Api.Arn, B: !Sub '${AWS::Region}-${Fleet}', C: !Join [',', [!Ref Api, x]]}}
      Events:
        Static: {Type: HttpApi, Properties: {Path: !Sub '${Root}/dog/one', Method: get}}
        Parameter: {Type: HttpApi, Properties: {Path: '/pets/dog/{id}', Method: GET}}
        Any: {Type: HttpApi, Properties: {Path: '/pets/dog/{name}', Method: ANY}}
        Vote: {Type: HttpApi, Properties: {Path: '/pets/{kind}/{id}/vote', Method: POST}}
        Greedy: {Type: HttpApi, Properties: {Path: '/pets/{proxy+}', Method: GET}}
        Deeper: {Type: HttpApi, Properties: {Path: '/pets/cat/{rest+}', Method: GET}}
        Head: {Type: HttpApi, Properties: {Path: /head, Method: !If [HasFleet, GET, HEAD]}}
        Root: {Type: HttpApi, Properties: {Path: /, Method: GET}}
        Tick: {Type: ScheduleV2, Properties: {ScheduleExpression: rate(1 day)}}
  Rest:
    Type: AWS::Serverless::Function
    Properties:
      Events: {Default: {Type: HttpApi}}
  Fleets:
    Type: AWS::Serverless::Function
    Condition: HasFleet
    Properties:
      Events: {Trucks: {Type: HttpApi, Properties: {Path: /trucks, Method: GET}}}
`

// call holds the arguments of a function's call.
type call struct {
	Function string
	Event    events.APIGatewayV2HTTPRequest
	Raw      json.RawMessage
}

// record returns a function that records its calls and always returns the same
// response.
func record(calls *[]call, name, answer string) emulator.Function {
	return func(_ context.Context, raw json.RawMessage) (json.RawMessage, error) {
		c := call{Function: name, Raw: raw}
		if err := json.Unmarshal(raw, &c.Event); err != nil {
			return nil, err
		}
		*calls = append(*calls, c)
		return json.RawMessage(answer), nil
	}
}

// newSmall returns a gateway of the small template whose functions all return
// the same response.
func newSmall(t *testing.T, answer string) (*emulator.Gateway, *[]call) {
	t.Helper()
	calls := &[]call{}
	g, err := emulator.New([]byte(small), map[string]emulator.Function{
		"Pets": record(calls, "Pets", answer), "Rest": record(calls, "Rest", answer),
	})
	if err != nil {
		t.Fatal(err)
	}
	freeze(g)
	return g, calls
}

func freeze(g *emulator.Gateway) {
	g.Now = func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	g.NewID = func() string { return "id-1" }
	g.Log = slog.New(slog.DiscardHandler)
}

// newReal returns a gateway of template.yaml that calls the given function on
// every route.
func newReal(t *testing.T, f emulator.Function) *emulator.Gateway {
	t.Helper()
	routes, err := emulator.Routes(svc.Template)
	if err != nil {
		t.Fatal(err)
	}
	functions := map[string]emulator.Function{}
	for _, r := range routes {
		functions[r.Function] = f
	}
	g, err := emulator.New(svc.Template, functions)
	if err != nil {
		t.Fatal(err)
	}
	freeze(g)
	return g
}

// send sends a request; headers have the form "Name: value".
func send(h http.Handler, method, target string, body io.Reader, headers ...string) *http.Response {
	r := httptest.NewRequest(method, target, body)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
