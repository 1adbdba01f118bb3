package mcp

import (
	"encoding/json"
	"strings"

	"svc/pkg/access/authz"
)

// prompt is a text with which a person starts a conversation. {name} in the
// text is replaced by the argument of that name, as a JSON string.
type prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title"`
	Description string           `json:"description"`
	Arguments   []promptArgument `json:"arguments,omitempty"`

	audience authz.Audience
	text     string
}

// promptArgument is an argument of a prompt, which the person fills in.
type promptArgument struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
}

// prompts are the prompts for all audiences.
var prompts = []prompt{
	{Name: "ride", Title: "Request a ride", audience: authz.Rider,
		Description: "From an address to another one, after the person agreed.",
		Arguments: []promptArgument{{"from", "Where the ride starts: an address.", true},
			{"to", "Where it ends: an address.", true}},
		text: "I want a ride from {from} to {to}. Look for both among my addresses (svc_list_addresses). Ask me for " +
			"coordinates that you do not know, and do not guess them. Ask how I pay (svc_list_payment_methods). " +
			"Request the ride (svc_request_ride) after I agreed. Then tell me its id and status (svc_my_trips), and " +
			"how I can cancel it."},
	{Name: "shift_report", Title: "Report of a shift", audience: authz.Dashboard,
		Description: "What happened between two times, and what needs attention.",
		Arguments: []promptArgument{{"from", "Start of the shift, RFC 3339.", true},
			{"to", "End of the shift, RFC 3339.", true}},
		text: "Write a report of the shift from {from} to {to}. Take the totals from svc_reports_summary with these " +
			"times. Read the trips of the time by svc_list_trips, page by page, and the drivers by " +
			"svc_list_drivers. Report: trips by status, revenue in the company's currency, cancelled trips, trips " +
			"that are still open, and drivers who are online without a trip. Change nothing."},
}

// listPrompts sends the prompts of the token's audience.
func (x *exchange) listPrompts() {
	if !x.admitted() {
		return
	}
	out := []prompt{}
	for _, p := range prompts {
		if p.audience == x.entry.Resource.Audience {
			out = append(out, p)
		}
	}
	x.answered(map[string]any{"prompts": out})
}

// getPrompt sends the text of a prompt, with the arguments filled in.
func (x *exchange) getPrompt() {
	if !x.admitted() {
		return
	}
	var sent map[string]json.RawMessage
	raw := unquoted(x.m.params.Arguments)
	wrong, given := len(raw) > 0 && json.Unmarshal(raw, &sent) != nil, map[string]string{}
	for name, value := range withoutHost(sent) {
		var text string
		wrong = wrong || json.Unmarshal(value, &text) != nil
		given[name] = text
	}
	if wrong {
		x.fail(refuse(x.protocolStatus(), codeParams, "The arguments of a prompt are strings."))
		return
	}
	for _, p := range prompts {
		if p.Name != x.m.params.Name || p.audience != x.entry.Resource.Audience {
			continue
		}
		var pairs []string
		for _, a := range p.Arguments {
			value, _ := json.Marshal(given[a.Name]) // marshaling a string cannot fail
			if given[a.Name] == "" {
				x.fail(refuse(x.protocolStatus(), codeParams, "The argument "+a.Name+" is missing."))
				return
			}
			pairs = append(pairs, "{"+a.Name+"}", string(value))
		}
		x.answered(map[string]any{"description": p.Description, "messages": []any{map[string]any{"role": "user",
			"content": map[string]any{"type": "text", "text": strings.NewReplacer(pairs...).Replace(p.text)}}}})
		return
	}
	x.fail(refuse(x.protocolStatus(), codeParams, "Unknown prompt"))
}
