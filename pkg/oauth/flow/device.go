package flow

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Device is the response of the device authorization endpoint (RFC 8628 section 3.2).
type Device struct {
	Code      string `json:"device_code"`
	UserCode  string `json:"user_code"`
	URI       string `json:"verification_uri"`
	ExpiresIn int    `json:"expires_in"` // seconds
	Interval  int    `json:"interval"`   // seconds; 0 means 5
}

// StartDevice asks the device authorization endpoint for a code. form has the request's
// parameters, without the client.
func StartDevice(ctx context.Context, o Options, endpoint string, form url.Values) (Device, error) {
	var d Device
	if err := o.filled().post(ctx, endpoint, form, &d); err != nil {
		return d, err
	}
	if d.Code == "" || d.UserCode == "" || d.URI == "" || d.ExpiresIn <= 0 {
		return d, errors.New("the response lacks a code, an address or an end")
	}
	return d, nil
}

// slower is how much longer the client waits before each further request after slow_down
// (RFC 8628 section 3.5), and after a response that says nothing about the code.
const slower = 5 * time.Second

// ErrDeviceExpired means that nobody entered the code in time.
var ErrDeviceExpired = errors.New("the code has expired; begin again")

// Poll asks for the tokens until the person has decided or the code has expired. A failure
// of the network or of the server does not end it; note is told of the first one.
func (d Device) Poll(ctx context.Context, o Options, note func(error)) (Tokens, error) {
	interval := time.Duration(d.Interval) * time.Second
	if interval <= 0 {
		interval = slower
	}
	for end := time.Now().Add(time.Duration(d.ExpiresIn) * time.Second); ; {
		if time.Now().Add(interval).After(end) {
			return Tokens{}, ErrDeviceExpired
		}
		select {
		case <-ctx.Done():
			return Tokens{}, ctx.Err()
		case <-time.After(interval):
		}
		tokens, err := d.ask(ctx, o)
		var said *Error
		switch answered := errors.As(err, &said) && said.Status < http.StatusInternalServerError; {
		case err == nil, ctx.Err() != nil:
			return tokens, err
		case answered && said.Code == "authorization_pending":
		case answered && said.Code == "slow_down":
			interval += slower
		case answered && said.Code == "expired_token":
			return Tokens{}, ErrDeviceExpired
		case answered && said.Status == http.StatusBadRequest, answered && said.Status == http.StatusUnauthorized:
			return Tokens{}, err
		default: // it may be better the next time
			interval += slower
			note(err)
			note = func(error) {}
		}
	}
}

// ask makes one token request, which a server that hangs does not hold forever.
func (d Device) ask(ctx context.Context, o Options) (Tokens, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tokens, err := Grant(ctx, o, url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"},
		"device_code": {d.Code}})
	if err == nil && tokens.AccessToken == "" {
		err = fmt.Errorf("the response has no token")
	}
	return tokens, err
}
