package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"svc/pkg/app"
	"svc/pkg/base/ids"
	"svc/pkg/oauth/flow"
)

// task is an event of a function that a measurement repeats.
type task struct {
	name, function string
	// next makes a new event, with data that no earlier event has used.
	next func(ctx context.Context) (json.RawMessage, error)
}

// held intercepts events before they reach their functions.
type held struct {
	mu     sync.Mutex
	events map[string][]json.RawMessage // by function
	wants  func(function string, event json.RawMessage) bool
}

var errHeld = errors.New("the event was kept")

// hold intercepts the events that wants selects, while run runs.
func (h *held) hold(wants func(function string, event json.RawMessage) bool, run func() error) error {
	h.mu.Lock()
	h.events, h.wants = map[string][]json.RawMessage{}, wants
	h.mu.Unlock()
	err := run()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wants = nil
	return err
}

// wrap returns the function behind the interception. The result for an
// intercepted event is answer and err.
func (h *held) wrap(function string, answer json.RawMessage, err error,
	next func(context.Context, json.RawMessage) (json.RawMessage, error),
) func(context.Context, json.RawMessage) (json.RawMessage, error) {
	return func(ctx context.Context, event json.RawMessage) (json.RawMessage, error) {
		h.mu.Lock()
		wanted := h.wants != nil && h.wants(function, event)
		if wanted {
			h.events[function] = append(h.events[function], event)
		}
		h.mu.Unlock()
		if wanted {
			return answer, err
		}
		return next(ctx, event)
	}
}

// largest returns the function's largest event.
func (h *held) largest(function string) (json.RawMessage, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.events[function]) == 0 {
		return nil, fmt.Errorf("%s received no event", function)
	}
	return slices.MaxFunc(h.events[function], func(a, b json.RawMessage) int { return len(a) - len(b) }), nil
}

// tasks returns the requests of all endpoints, a sign-in with a password, and events
// of the functions that endpoints does not reach.
func (w *world) tasks(ctx context.Context) ([]task, error) {
	var out []task
	all, err := endpoints()
	if err != nil {
		return nil, err
	}
	for _, e := range append(all, grants...) {
		function, _, err := e.event(ctx, w)
		if err != nil {
			return nil, err
		}
		out = append(out, task{marked(e.title()), function, e.next(w)})
	}
	component, err := w.component(ctx)
	if err != nil {
		return nil, err
	}
	agent, err := flow.Token(ctx, flow.Options{BaseURL: w.service.BaseURL, Tenant: slug, Audience: string(op),
		Email: "operator@metro.example", Password: w.person().Password, Resource: w.service.BaseURL + "/mcp"})
	if err != nil {
		return nil, err
	}
	return append(out,
		task{"a password, at the sign-in page", app.OAuth, w.password},
		task{"`GET " + component + "`", app.Docs, func(context.Context) (json.RawMessage, error) {
			return event("", "", "GET", component, "")
		}},
		task{"`tools/call svc_list_trips`, 200 of them", app.MCP, func(context.Context) (json.RawMessage, error) {
			return event(agent.AccessToken, "application/json", "POST", "/mcp", `{"jsonrpc":"2.0","id":1,`+
				`"method":"tools/call","params":{"name":"svc_list_trips","arguments":{"limit":200}}}`)
		}},
		task{"a completed ride", app.Settlement, w.records(app.Settlement)},
		task{"the records of a ride", app.Projection, w.records(app.Projection)},
		task{"the daily rotation, with no key due", app.Keys, func(context.Context) (json.RawMessage, error) {
			return json.RawMessage(`{}`), nil
		}}), nil
}

var componentPath = regexp.MustCompile(`/[^"]*scalar[^"]*\.js`)

// component returns the path of the reference page's script, its largest file.
func (w *world) component(ctx context.Context) (string, error) {
	raw, err := event("", "", "GET", "/docs", "")
	if err != nil {
		return "", err
	}
	out, err := w.functions[app.Docs](ctx, raw)
	if err != nil {
		return "", err
	}
	page, err := bodyOf(out)
	if err != nil {
		return "", err
	}
	if path := componentPath.Find(page); path != nil {
		return string(path), nil
	}
	return "", errors.New("the reference page names no component")
}

// password returns the event of a request that submits a password.
func (w *world) password(ctx context.Context) (json.RawMessage, error) {
	o := w.person()
	client, err := flow.Register(ctx, o)
	if err != nil {
		return nil, err
	}
	o.ClientID = client.ID
	err = w.held.hold(func(function string, event json.RawMessage) bool {
		return function == app.OAuth && sends(event, "password=")
	}, func() error {
		_, err := flow.Code(ctx, o, ids.Secret())
		return err
	})
	raw, missing := w.held.largest(app.OAuth)
	return raw, errors.Join(missing, ifMissing(missing, err))
}

// sends reports whether the body of a gateway event contains the text.
func sends(event json.RawMessage, text string) bool {
	var e struct {
		Body            string
		IsBase64Encoded bool
	}
	if json.Unmarshal(event, &e) != nil {
		return false
	}
	if e.IsBase64Encoded {
		body, err := base64.StdEncoding.DecodeString(e.Body)
		return err == nil && bytes.Contains(body, []byte(text))
	}
	return strings.Contains(e.Body, text)
}

func ifMissing(missing, err error) error {
	if missing == nil {
		return nil // the flow ends with an error because its event was kept
	}
	return err
}

// records returns a function that completes a ride and returns the largest
// event that the stream gives to the function. Nothing of the ride is settled
// or counted before.
func (w *world) records(function string) func(context.Context) (json.RawMessage, error) {
	return func(ctx context.Context) (json.RawMessage, error) {
		err := w.held.hold(func(to string, _ json.RawMessage) bool {
			return to == app.Settlement || to == app.Projection
		}, func() error {
			if err := w.completes(ctx, func() error { return nil }); err != nil {
				return err
			}
			return w.service.Poller.Drain(ctx)
		})
		if err != nil {
			return nil, err
		}
		return w.held.largest(function)
	}
}

// completes requests a ride and completes it. between runs before each request
// but the first.
func (w *world) completes(ctx context.Context, between func() error) error {
	_, err := w.drives(ctx, between, "accept", "arrived", "start", "complete")
	return err
}

// drives requests a ride and performs the actions on it, in order. between runs
// before each action. The returned target of the trip ends with a slash.
func (w *world) drives(ctx context.Context, between func() error, actions ...string) (target string, err error) {
	answer, err := w.call(ctx, rider, "POST", "/api/v1/me/trips", w.ride())
	if err != nil {
		return "", err
	}
	var trip struct{ ID string }
	if err := json.Unmarshal(answer, &trip); err != nil {
		return "", err
	}
	target = "/api/v1/me/trips/" + trip.ID + "/"
	for _, action := range actions {
		if err := between(); err != nil {
			return "", err
		}
		if _, err := w.call(ctx, driver, "POST", target+action, ""); err != nil {
			return "", err
		}
	}
	return target, nil
}
