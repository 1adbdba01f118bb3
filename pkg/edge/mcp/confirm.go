package mcp

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"svc/pkg/base/plaintext"
)

// agreementLife is how long a person has to confirm a call.
const agreementLife = 10 * time.Minute

// agreement returns the confirmation code for one call. The code contains its
// expiry and authenticates the tool and the arguments by an HMAC. The key of
// the HMAC is derived from the access token. The client's program has the token
// and the model does not, so a model cannot create a code. The server needs no
// secret and no record for the code.
func agreement(token string, c call, end time.Time) string {
	key := sha256.Sum256([]byte("svc agreement\n" + token))
	mac := hmac.New(sha256.New, key[:])
	stamp := strconv.FormatInt(end.UnixMilli(), 36)
	_, _ = fmt.Fprintf(mac, "%s\n%s\n%s", stamp, c.tool.Name, c.digest()) // a hash cannot fail
	return stamp + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// agrees reports whether the confirmation code is for this call and has not expired. token
// is the access token.
func agrees(token string, c call, code string, now time.Time) bool {
	stamp, _, _ := strings.Cut(code, ".")
	ms, err := strconv.ParseInt(stamp, 36, 64)
	if err != nil {
		return false
	}
	end := time.UnixMilli(ms)
	return now.Before(end) && end.Before(now.Add(agreementLife+time.Minute)) &&
		hmac.Equal([]byte(code), []byte(agreement(token, c, end)))
}

// mostShown is how many arguments a question shows. No operation has as many.
const mostShown = 50

// question returns the text that a person reads before a call. It shows the
// arguments as JSON, with invisible characters escaped, because the agent chose
// them. It shows each value completely: a person must not confirm what they could
// not read. The limit of a request's body bounds the text.
func (c call) question() string {
	var b strings.Builder
	b.WriteString(c.tool.Title + "? " + c.tool.confirm)
	shown := 0
	for _, a := range c.arguments {
		if a.name == keyArgument || a.name == codeArgument || c.tool.internal && a.name == "secret" {
			continue
		}
		if shown++; shown > mostShown {
			continue
		}
		fmt.Fprintf(&b, "\n%s: %s", a.name, plaintext.Visible(legible(a.value)))
	}
	if shown > mostShown {
		fmt.Fprintf(&b, "\n… %d values are not shown.", shown-mostShown)
	}
	return b.String()
}

// legible returns a JSON value with as few escapes in its strings as possible.
// Otherwise an agent could hide a text from the person by writing it in
// escapes.
func legible(value json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	var decoded any
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if dec.Decode(&decoded) != nil || enc.Encode(decoded) != nil {
		return string(value)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// inputRequired returns the result that makes the client ask the person
// (revision 2026-07-28, "Multi Round-Trip Requests").
func inputRequired(c call, code string) any {
	return map[string]any{"resultType": "input_required", "requestState": code,
		"inputRequests": map[string]any{agreed: map[string]any{"method": "elicitation/create",
			"params": map[string]any{"mode": "form", "message": c.question(),
				"requestedSchema": map[string]any{"type": "object", "required": []string{agreed},
					"properties": map[string]any{agreed: map[string]any{"type": "boolean", "title": "I agree",
						"description": "Yes, do this now."}}}}}}}
}

// agreed names the only field of the form that the person fills in.
const agreed = "agreed"

// answered returns the person's answer to inputRequired: whether there is one,
// and whether it is yes.
func (p params) answered() (given, yes bool) {
	response, given := p.Responses[agreed]
	var ticked bool
	_ = json.Unmarshal(response.Content[agreed], &ticked) // an absent or malformed answer means no
	return given, response.Action == "accept" && ticked
}

// needsAgreement returns the result for a client that cannot ask the person. The
// result tells the model to ask, and to repeat the call with the confirmation code.
func needsAgreement(c call, code string) any {
	text := fmt.Sprintf("A person must agree to this first. Show the person exactly this question and wait for "+
		"the answer. Only after a clear yes, call %s again with the same arguments and %q: %q. "+
		"The code expires in %d minutes.\n\n%s",
		c.tool.Name, codeArgument, code, int(agreementLife/time.Minute), c.question())
	return errorResult("confirmation_required", text)
}
