package mcp

import (
	"cmp"
	"encoding/json"
	"net/http"

	"svc/pkg/access/authz"
)

// subscriptions has the ids of the operations that manage an agent's subscription to
// events. Agents cannot call them as tools.
type subscriptions struct{ subscribe, renew, unsubscribe string }

// subscriptionsOf returns the ids of the operations for the audience. Operators subscribe
// to the company's events, riders and drivers to their own.
func subscriptionsOf(audience authz.Audience) subscriptions {
	if audience == authz.Dashboard {
		return subscriptions{"svc_subscribe_events", "svc_renew_subscription", "svc_unsubscribe_events"}
	}
	return subscriptions{"svc_subscribe_own_events", "svc_renew_own_subscription", "svc_unsubscribe_own_events"}
}

// operations returns the ids of the operations for the token's audience.
func (x *exchange) operations() subscriptions { return subscriptionsOf(x.entry.Resource.Audience) }

// subscription is an agent's subscription to events, as the operations of the API return
// it.
type subscription struct {
	ID            string  `json:"id"`
	RefreshBefore string  `json:"refreshBefore"`
	Cursor        string  `json:"cursor"`
	Truncated     bool    `json:"truncated"`
	Status        string  `json:"status"`
	Reason        *string `json:"reason"`
	FailingSince  *string `json:"failingSince"`
}

// callbackErrors maps the result of a delivery attempt to an error word of MCP Events. A
// result without a word of its own gets the word of a similar result; "" is no error. No
// word may reveal anything about the network of the receiver.
var callbackErrors = map[string]string{"timeout": "timeout", "tls_error": "tls_error", "http_3xx": "http_4xx",
	"http_4xx": "http_4xx", "gone": "http_4xx", "http_5xx": "http_5xx", "challenge_failed": "challenge_failed",
	"unverified": ""}

// status returns the deliveryStatus of a subscription.
func (s subscription) status() map[string]any {
	out := map[string]any{"active": s.Status == "enabled"}
	if s.Reason != nil {
		word, known := callbackErrors[*s.Reason]
		if !known {
			word = "connection_refused"
		}
		if word != "" {
			out["lastError"] = word
		}
	}
	if s.FailingSince != nil {
		out["failedSince"] = *s.FailingSince
	}
	return out
}

// identified returns a call of the operation, with the arguments that identify the
// subscription. If it returns false, it has sent an error.
func (x *exchange) identified(operation string, p eventParams) (call, bool) {
	t := x.own[operation]
	if t == nil || !t.admits(x.entry.Resource.Audience) || cmp.Or(p.Delivery.Mode, "webhook") != "webhook" {
		if x.admitted() {
			x.failEvent(eventMode, "Events cannot be delivered in this way. events/list says how.")
		}
		return call{}, false
	}
	c := call{tool: t}
	c.add("name", p.Name)
	c.add("url", cmp.Or(p.Delivery.URL, p.URL))
	if p.resource != "" {
		c.add("resource", p.resource)
	}
	return c, true
}

// subscribe renews the subscription or, if the agent has none, makes one after the
// person has agreed.
func (x *exchange) subscribe(p eventParams) {
	c, ok := x.identified(x.operations().renew, p)
	if !ok {
		return
	}
	c.add("secret", p.Delivery.Secret)
	for name, value := range map[string]*int64{"maxAgeMs": p.MaxAge, "ttlMs": p.TTL} {
		if value != nil {
			c.add(name, *value)
		}
	}
	if p.Cursor != nil {
		c.add("cursor", *p.Cursor)
	}
	answer, entry := newRecorder(), x.entry
	x.api.Call(answer, c.request(x.r), entry)
	if answer.status == http.StatusNotFound {
		c.tool = x.own[x.operations().subscribe]
		code, refusal := x.agreedCode(c)
		if refusal != nil {
			refusal()
			return
		}
		answer, entry.Confirmed = newRecorder(), code != ""
		if x.api.Call(answer, c.request(x.r), entry) {
			x.askToSubscribe(c)
			return
		}
	}
	if !x.succeeded(answer) {
		return
	}
	var made subscription
	_ = json.Unmarshal(answer.body.Bytes(), &made) // the body is our own JSON, so this cannot fail
	x.eventResult(map[string]any{"id": made.ID, "refreshBefore": made.RefreshBefore, "cursor": made.Cursor,
		"truncated": made.Truncated, "deliveryStatus": made.status()})
}

// askToSubscribe asks the person by the client's form. A client without forms cannot
// subscribe, because events/subscribe has no parameter for a confirmation code.
func (x *exchange) askToSubscribe(c call) {
	if x.m.elicits() {
		x.result(inputRequired(c, x.newCode(c)))
		return
	}
	x.failEvent(eventForbidden, "A person must agree to this, and the client shows no form (elicitation). The company "+
		"can let agents act without it (agentActions).")
}

// unsubscribe ends a subscription. If there is none, the response is a success too.
func (x *exchange) unsubscribe(p eventParams) {
	c, ok := x.identified(x.operations().unsubscribe, p)
	if !ok {
		return
	}
	answer := newRecorder()
	x.api.Call(answer, c.request(x.r), x.entry)
	if x.succeeded(answer) {
		x.eventResult(map[string]any{})
	}
}
