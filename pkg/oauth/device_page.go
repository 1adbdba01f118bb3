package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"svc/pkg/access/throttle"
	"svc/pkg/data/table"
	"svc/pkg/domain/page"
	"svc/pkg/oauth/clients"
	"svc/pkg/oauth/protocol"
	"svc/pkg/oauth/request"
	"svc/pkg/oauth/tokens"
)

const (
	deviceForm    = "device"    // path, and the purpose of the page's form token
	userCodeField = "user_code" // query parameter of an authorization that a device asked for
	typedHere     = "typed"     // query parameter: the form token of this browser for the code
	wrongCodes    = 5           // codes that one browser may mistype in an hour
)

// devicePage asks for the code that a device shows (RFC 8628 section 3.3). The pages of an
// authorization follow: sign-in, company and consent.
type devicePage struct {
	*authorizations
	*pages
	throttle *throttle.Throttle
	limit    int // wrong codes per network address and hour
}

// get serves GET /oauth/device. A code in the link fills in the form. The page does not look
// it up: only the person's button does, so that a link alone leads nowhere.
func (p *devicePage) get(w http.ResponseWriter, r *http.Request) error {
	return p.showForm(w, r, r.URL.Query().Get(userCodeField), "", http.StatusOK)
}

func (p *devicePage) showForm(w http.ResponseWriter, r *http.Request, typed, problem string, status int) error {
	c := page.Device{Action: inSameLanguage(r, deviceForm, nil), CSRF: p.sessions.FormToken(w, r, deviceForm, ""),
		Problem: problem}
	if code, ok := tokens.ParseUserCode(typed); ok {
		c.Code = tokens.ShowUserCode(code)
	}
	return p.show(w, r, status, page.Frame{}, c)
}

// post serves POST /oauth/device. Each attempt counts before the code is looked up, so parallel
// guesses cannot pass the limits. A right code takes back only its own count.
func (p *devicePage) post(w http.ResponseWriter, r *http.Request) error {
	form, err := readForm(r)
	if err != nil {
		return err
	}
	typed, ctx := form.Get(userCodeField), r.Context()
	if !p.sessions.HasForm(r) {
		return p.showForm(w, r, typed, noCookies, http.StatusBadRequest)
	}
	if !p.sessions.FormValid(r, deviceForm, "", form.Get("csrf")) {
		return redirect(w, http.StatusSeeOther, inSameLanguage(r, deviceForm, nil))
	}
	counters := []throttle.Counter{
		{Kind: "user-code", Key: form.Get("csrf"), Limit: wrongCodes, Window: time.Hour, Sliding: true},
		{Kind: "user-code-address", Key: p.throttle.Address(ctx), Limit: p.limit, Window: time.Hour, Sliding: true}}
	err = p.throttle.Count(ctx, counters...)
	if e, refused := throttle.Refused(err); refused {
		protocol.Note(r, e.Code())
		w.Header().Set("Retry-After", protocol.Seconds(e.RetryAfter))
		return p.showForm(w, r, "", throttled, http.StatusTooManyRequests)
	}
	if err != nil {
		return err
	}
	code, ok := tokens.ParseUserCode(typed)
	var d tokens.Device
	if ok {
		d, err = p.tokens.FindDevice(ctx, code)
	}
	if !ok || errors.Is(err, tokens.ErrNoDevice) {
		protocol.Note(r, "user_code_wrong")
		return p.showForm(w, r, typed, wrong, http.StatusBadRequest)
	}
	if err != nil {
		return err
	}
	p.throttle.Forgive(ctx, counters...)
	return redirect(w, http.StatusSeeOther, inSameLanguage(r, "authorize", url.Values{"client_id": {d.ClientID},
		userCodeField: {code}, typedHere: {p.sessions.FormToken(w, r, deviceForm, code)}}))
}

// ofDevice reports whether a request belongs to an authorization that a device asked for. Its
// address has the user code in the place of a redirect address.
func ofDevice(r *http.Request) bool { return r.URL.Query().Has(userCodeField) }

// deviceQuery returns what the pages of such an authorization repeat in their addresses.
func deviceQuery(r *http.Request) url.Values {
	out, in := url.Values{}, r.URL.Query()
	for _, name := range []string{"client_id", userCodeField, typedHere, request.AudienceChosen, "tenant_hint",
		request.CompanyTyped, "prompt", "ui_locales"} {
		if value := in.Get(name); value != "" {
			out.Set(name, value[:min(len(value), longestHint)])
		}
	}
	if strings.Contains(out.Get("prompt"), "none") { // the pages are all there is
		out.Del("prompt")
	}
	return out
}

// longestHint is the longest parameter of a device's authorization, in bytes.
const longestHint = 400

// typeCodeError means that nobody has typed the user code in this browser, at this host.
type typeCodeError struct{ page string }

func (e *typeCodeError) Error() string { return "the code was not typed in this browser" }

// errDeviceGone is the error of a request that does not wait any more.
var errDeviceGone = &protocol.PageError{Status: http.StatusBadRequest, Kind: "devicegone", Again: deviceForm}

// openDevice is open for what a device asked for. The company and the audience are those that
// the device named, else those that the person chooses.
func (q *authorizations) openDevice(r *http.Request) (*authorization, error) {
	ctx, query := r.Context(), deviceQuery(r)
	code, ok := tokens.ParseUserCode(query.Get(userCodeField))
	if !ok || !q.signedIn.FormValid(r, deviceForm, code, query.Get(typedHere)) {
		return nil, &typeCodeError{inSameLanguage(r, deviceForm, url.Values{userCodeField: query[userCodeField]})}
	}
	d, err := q.tokens.FindDevice(ctx, code)
	if errors.Is(err, tokens.ErrNoDevice) || err == nil && d.ClientID != query.Get("client_id") {
		return nil, errDeviceGone
	} else if err != nil {
		return nil, err
	}
	c, err := q.clients.Find(ctx, d.ClientID)
	if errors.Is(err, clients.ErrUnknown) {
		return nil, protocol.RefuseOnPage("client", "client_id is not known")
	} else if err != nil {
		return nil, err
	}
	asked, refused := d.Request(q.companies.BaseURL, query)
	a := &authorization{Request: asked, client: c, device: &d}
	if refused == nil {
		refused = a.ReadPrompt()
	}
	if refused == nil {
		a.audience, a.asked, refused = a.ChooseAudience(c)
	}
	if refused != nil {
		return a, &redirectError{a, refused}
	}
	trust, err := q.clients.Handle().Get(ctx, q.clients.TrustKey(c.ID))
	if err != nil {
		return nil, err
	}
	if may, err := c.MayUseDevices(trust, d.Scopes); err != nil {
		return nil, err
	} else if !may {
		return nil, protocol.RefuseOnPage("client", "the client may not use the device flow")
	}
	if a.audience == "" {
		return a, &audienceError{a}
	}
	return a, q.openCompany(r, a)
}

// userCode returns the code that the device shows, "" without a device.
func (a *authorization) userCode() string {
	if a.device == nil {
		return ""
	}
	code, _ := tokens.ParseUserCode(a.Query.Get(userCodeField))
	return tokens.ShowUserCode(code)
}

// answerDevice gives the device what the person allowed, or refuses it if consent is nil. The
// device gets a family of its own, which does not know the browser's session. If the
// request was answered before, the page says how.
func (d *decisions) answerDevice(w http.ResponseWriter, r *http.Request, a *authorization, consent condition) error {
	if consent != nil {
		if _, err := d.clients.Keep(r.Context(), a.client); errors.Is(err, clients.ErrUnknown) {
			return protocol.RefuseOnPage("client", "client_id is not known")
		} else if err != nil {
			return err
		}
	}
	state := ""
	err := table.Retry(r.Context(), func(ctx context.Context) (err error) {
		answer, require := *a.device, func(*table.Tx) {}
		if consent != nil {
			if require, err = consent(ctx, a); err != nil {
				return err
			}
			code := a.code()
			code.Session, code.Device = "", true
			answer.Approval = &code
		}
		state, err = d.tokens.AnswerDevice(ctx, answer, require)
		return err
	})
	if err != nil {
		return err
	}
	if err := d.forget(r.Context(), a); err != nil {
		return err
	}
	switch state {
	case tokens.DeviceApproved, tokens.DeviceDenied:
		return d.show(w, r, http.StatusOK, a.frame(), page.Message{Kind: "device" + state})
	}
	return errDeviceGone
}
