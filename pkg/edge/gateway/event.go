package gateway

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"svc/pkg/base/codec"
)

// event has the fields of an API Gateway event, of either payload, from which the
// method request builds the http.Request.
type event struct {
	Version string `json:"version"` // absent in events of REST APIs
	v2      bool   // payload 2.0; else 1.0

	// Payload 2.0.
	RouteKey       string   `json:"routeKey"`
	RawPath        string   `json:"rawPath"`
	RawQueryString string   `json:"rawQueryString"`
	Cookies        []string `json:"cookies"`

	// Payload 1.0.
	Resource          string              `json:"resource"`
	Path              string              `json:"path"`
	HTTPMethod        string              `json:"httpMethod"`
	MultiValueHeaders map[string][]string `json:"multiValueHeaders"`
	MultiValueQuery   map[string][]string `json:"multiValueQueryStringParameters"`

	// Both payloads.
	Headers         map[string]string `json:"headers"`
	Query           json.RawMessage   `json:"queryStringParameters"` // rawQuery decodes it if needed
	PathParameters  map[string]string `json:"pathParameters"`
	Body            string            `json:"body"`
	IsBase64Encoded bool              `json:"isBase64Encoded"`
	RequestContext  struct {
		RequestID    string `json:"requestId"`
		Stage        string `json:"stage"`
		APIID        string `json:"apiId"`
		DomainName   string `json:"domainName"`
		DomainPrefix string `json:"domainPrefix"`
		HTTP         struct {
			Method   string `json:"method"`
			Path     string `json:"path"`
			SourceIP string `json:"sourceIp"`
		} `json:"http"`
		Identity struct {
			SourceIP string `json:"sourceIp"`
		} `json:"identity"`
	} `json:"requestContext"`
}

var errNoPayload = errors.New("gateway: the event is neither a payload 1.0 nor a payload 2.0: it has no method")

// decode decodes an event of either payload. On an error, the event holds what
// could be decoded.
func decode(raw json.RawMessage) (*event, error) {
	e := new(event)
	err := codec.Unmarshal(raw, e)
	if err != nil { // encoding/json also decodes what follows the first wrong type
		*e = event{}
		err = json.Unmarshal(raw, e)
	}
	// The response to an event of neither payload has the format 2.0, which a
	// REST API also accepts.
	e.v2 = e.Version != "1.0" && e.HTTPMethod == ""
	if err != nil {
		// The decoder's own message may quote the event.
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return e, fmt.Errorf("gateway: wrong type in the event at %q", wrong.Field)
		}
		return e, errors.New("gateway: the event is not JSON")
	}
	if e.method() == "" {
		return e, errNoPayload
	}
	return e, nil
}

// method returns the request's HTTP method, "" if the event has none.
func (e *event) method() string {
	if e.v2 {
		return e.RequestContext.HTTP.Method
	}
	return e.HTTPMethod
}

// fullPath returns the request's path as it is in the event: decoded, and with the
// stage or base path if the event has them.
func (e *event) fullPath() string {
	switch {
	case e.v2 && e.RawPath != "":
		return e.RawPath
	case e.v2:
		return e.RequestContext.HTTP.Path
	default:
		return e.Path
	}
}

// route returns the path of the route that matched, "" for $default.
func (e *event) route() string {
	if !e.v2 {
		return e.Resource
	}
	_, path, _ := strings.Cut(e.RouteKey, " ")
	return path
}

// rawQuery returns the query: as sent (2.0), or encoded from its decoded values
// (1.0, or 2.0 without rawQueryString).
func (e *event) rawQuery() (string, error) {
	if e.v2 && e.RawQueryString != "" || (len(e.Query) == 0 || string(e.Query) == "{}") && len(e.MultiValueQuery) == 0 {
		return e.RawQueryString, nil
	}
	if len(e.MultiValueQuery) > 0 {
		return url.Values(e.MultiValueQuery).Encode(), nil
	}
	var single map[string]string
	if err := json.Unmarshal(e.Query, &single); err != nil {
		return "", errors.New("gateway: wrong type in the event at \"queryStringParameters\"")
	}
	values := make(url.Values, len(single))
	for name, value := range single {
		values.Set(name, value)
	}
	return values.Encode(), nil
}

// body returns the bytes that the client sent.
func (e *event) body() ([]byte, error) {
	if !e.IsBase64Encoded {
		return []byte(e.Body), nil
	}
	body, err := base64.StdEncoding.DecodeString(e.Body)
	if err != nil {
		return nil, fmt.Errorf("gateway: body: %w", err)
	}
	return body, nil
}

// sourceIP returns the client's IP address, "" if the event has no valid one.
func (e *event) sourceIP() string {
	text := e.RequestContext.Identity.SourceIP
	if e.v2 {
		text = e.RequestContext.HTTP.SourceIP
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return ""
	}
	return addr.WithZone("").String()
}

// stagePrefix returns "/stage" if the stage is part of the path: at the
// gateway's own domain, on any stage but $default.
func (e *event) stagePrefix() string {
	c := &e.RequestContext
	if c.Stage == "" || c.Stage == "$default" {
		return ""
	}
	if c.DomainPrefix != "" && c.APIID != "" && c.DomainPrefix != c.APIID {
		return ""
	}
	return "/" + c.Stage
}

// baseURL returns the address that the request used, "" if the event has no domain.
func (e *event) baseURL() string {
	if e.RequestContext.DomainName == "" {
		return ""
	}
	return "https://" + e.RequestContext.DomainName + e.stagePrefix()
}

// direct reports whether a caller with the right lambda:InvokeFunction, not a gateway,
// sent the event. A gateway always names itself in apiId, and no client can write the
// event's own members. Other senders that put a client's request into an event
// without apiId, such as a load balancer, do not send payload 2.0.
func (e *event) direct() bool { return e.v2 && e.Version == "2.0" && e.RequestContext.APIID == "" }

// ownURL returns the API's own address, whatever domain the request used. A
// custom domain may belong to one tenant, but the issuer of tokens and the
// links in mails are the same for all tenants. If the event or the region does
// not tell the own address, ownURL returns baseURL.
func (e *event) ownURL(region string) string {
	c := &e.RequestContext
	if region == "" || c.APIID == "" || c.DomainPrefix == "" || c.DomainPrefix == c.APIID {
		return e.baseURL()
	}
	own := "https://" + c.APIID + ".execute-api." + region + ".amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		own += ".cn"
	}
	if c.Stage != "" && c.Stage != "$default" {
		own += "/" + c.Stage
	}
	return own
}
