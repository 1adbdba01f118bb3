package tokens

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"svc/pkg/access/authz"
	"svc/pkg/access/throttle"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
	"svc/pkg/oauth/clients"
	"svc/pkg/oauth/protocol"
	"svc/pkg/oauth/request"
)

// DeviceLife is how long a device's request may wait for its answer and for its tokens.
const DeviceLife = 10 * time.Minute

// Device is the stored request of a device that has no browser (RFC 8628). A person answers
// it in a browser elsewhere, who proves by the user code to see the device. The device
// redeems the answer by the device code, which is
//
//	user code "." secret
//
// The user code is the address of the record, so a poll is one read. The secret has 256
// random bits. The server stores the hashes of both codes.
type Device struct {
	ClientID string `json:"client"`
	CodeHash string `json:"codeHash"` // of the complete device code
	// What the device asked for, as it asked: its client may change its registration until
	// the person answers.
	Scopes     []string  `json:"scopes,omitempty"`
	Resources  []string  `json:"resources,omitempty"`
	Audience   string    `json:"audience,omitempty"`
	TenantHint string    `json:"tenantHint,omitempty"`
	Expires    time.Time `json:"expires"`
	// Approval is what the person allowed, nil before. Its auth_time is that of the browser.
	Approval *AuthorizationCode `json:"approval,omitempty"`

	item table.Item
}

// The states of a device's request, its attribute status. A request only goes from pending to
// denied, or by approved to used.
const (
	DevicePending  = "pending"
	DeviceApproved = "approved"
	DeviceDenied   = "denied"
	deviceUsed     = "used"
)

// userCodeLetters have no vowels, so a code spells no word (RFC 8628 section 6.1).
const (
	userCodeLetters = "BCDFGHJKLMNPQRSTVWXZ"
	userCodeSize    = 8
)

// newUserCode returns a random user code: 20^8 are possible.
func newUserCode() string {
	var code []byte
	var raw [1]byte
	for len(code) < userCodeSize {
		_, _ = rand.Read(raw[:]) // never fails (crypto/rand)
		if n := len(userCodeLetters); int(raw[0]) < 256/n*n {
			code = append(code, userCodeLetters[int(raw[0])%n])
		}
	}
	return string(code)
}

// ParseUserCode returns the code that a person typed, in any case and with any blanks and
// dashes. It returns false for a text that is no code.
func ParseUserCode(typed string) (code string, ok bool) {
	if len(typed) > 100 {
		return "", false
	}
	code = strings.ToUpper(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.Is(unicode.Pd, r) {
			return -1
		}
		return r
	}, typed))
	if len(code) != userCodeSize || strings.Trim(code, userCodeLetters) != "" {
		return "", false
	}
	return code, true
}

// ShowUserCode returns the code as people read it: XXXX-XXXX.
func ShowUserCode(code string) string {
	return code[:userCodeSize/2] + "-" + code[userCodeSize/2:]
}

func (s *Issuer) deviceKey(userCode string) table.Key {
	return s.p.Key("CODE", ids.Hash(userCode), "DEVICE")
}

// Declares the personal data in the items of a device's request.
var _ = table.Kind[any]{Type: "device-request", Personal: "nothing"}

func deviceFrom(it table.Item) (d Device, err error) {
	d.item = it
	return d, it.Decode(&d)
}

// Request returns the authorization request to which the person answers. query is that of the
// page, which adds what the device left open.
func (d Device) Request(base string, query url.Values) (request.Request, *protocol.Error) {
	a := request.Request{Query: url.Values{"resource": d.Resources}, ClientID: d.ClientID, Scopes: d.Scopes,
		TenantHint: d.TenantHint}
	if d.TenantHint == "" {
		a.TenantHint = strings.TrimSpace(query.Get("tenant_hint"))
	}
	refused := a.ReadResource(base)
	a.Query = url.Values{}
	for name := range query {
		a.Query.Set(name, query.Get(name))
	}
	if d.Audience != "" {
		a.Query.Set(request.AudienceChosen, d.Audience)
	}
	return a, refused
}

// deviceRequest is a request to the device authorization endpoint.
type deviceRequest struct {
	form  url.Values
	trust table.Item
}

func (g *deviceRequest) addGets(s *Issuer, b *table.BatchGet, clientID string) {
	b.Add(s.Clients.Handle(), s.Clients.TrustKey(clientID), &g.trust)
}

// deviceAnswer is the response of RFC 8628 section 3.2.
type deviceAnswer struct {
	DeviceCode string `json:"device_code"`
	UserCode   string `json:"user_code"`
	URI        string `json:"verification_uri"`
	Complete   string `json:"verification_uri_complete"`
	ExpiresIn  int64  `json:"expires_in"` // seconds
	Interval   int64  `json:"interval"`   // seconds
}

// AuthorizeDevice serves POST /oauth/device_authorization.
func (s *Issuer) AuthorizeDevice(w http.ResponseWriter, r *http.Request) error {
	form, err := protocol.ParseForm(r)
	if err != nil {
		return err
	}
	by, err := protocol.ParseCredentials(r, form, s.assertion)
	if err != nil {
		return err
	}
	var out deviceAnswer
	g := &deviceRequest{form: form}
	err = s.authenticated(r.Context(), by, g, new(bool), func(ctx context.Context, c clients.Client) error {
		out, err = g.begin(ctx, s, c)
		return err
	})
	if err != nil {
		return err
	}
	protocol.WriteJSON(w, http.StatusOK, out)
	return nil
}

var errNoDevices = protocol.Refuse("unauthorized_client", "Only clients that the platform trusts may use the device "+
	"flow: svc itself, and those of svc client trust.")

func (d Device) mayUse(c clients.Client, trust table.Item) error {
	may, err := c.MayUseDevices(trust, d.Scopes)
	if err == nil && !may {
		err = errNoDevices
	}
	return err
}

// begin stores the request.
func (g *deviceRequest) begin(ctx context.Context, s *Issuer, c clients.Client) (deviceAnswer, error) {
	d := Device{ClientID: c.ID, Scopes: authz.Split(g.form.Get("scope")), Resources: g.form["resource"],
		Audience: g.form.Get(request.AudienceChosen), TenantHint: g.form.Get("tenant_hint"), Expires: s.now().Add(DeviceLife)}
	if err := d.mayUse(c, g.trust); err != nil {
		return deviceAnswer{}, err
	}
	a, refused := d.Request(s.BaseURL, nil)
	var audience authz.Audience
	if refused == nil {
		audience, _, refused = a.ChooseAudience(c)
	}
	if refused != nil {
		return deviceAnswer{}, refused
	}
	base, err := s.verificationBase(ctx, audience, a.TenantHint)
	if err != nil {
		return deviceAnswer{}, err
	}
	if err := s.Throttle.Count(ctx, throttle.Counter{Kind: "device", Key: s.Throttle.Address(ctx), Limit: s.Devices,
		Window: time.Hour}); err != nil {
		return deviceAnswer{}, err
	}
	var user, secret string
	err = table.Retry(ctx, func(ctx context.Context) error {
		user, secret = newUserCode(), ids.Secret()
		d.CodeHash = ids.Hash(user + "." + secret)
		tx := s.p.Write()
		tx.Create(d.stored(s.deviceKey(user), DevicePending)).Else(table.ErrConflict) // another device has the code
		return tx.Commit(ctx)
	})
	if err != nil {
		return deviceAnswer{}, fmt.Errorf("storing a device's request: %w", err)
	}
	return deviceAnswer{DeviceCode: user + "." + secret, UserCode: ShowUserCode(user), URI: base + "/oauth/device",
		Complete:  base + "/oauth/device?user_code=" + ShowUserCode(user),
		ExpiresIn: int64(DeviceLife.Seconds()), Interval: int64(pollInterval.Seconds())}, nil
}

// verificationBase returns the address at which the person answers: that at which the accounts
// of the audience sign in (company.Companies.SignInBase).
func (s *Issuer) verificationBase(ctx context.Context, audience authz.Audience, slug string) (string, error) {
	if slug == "" {
		return s.BaseURL, nil
	}
	n, err := tenant.Store{DB: s.db}.BySlug(ctx, slug)
	switch {
	case errors.Is(err, fault.NotFound()) || err == nil && n.Disabled:
		return "", protocol.Refuse("invalid_request", "tenant_hint is not known.")
	case err == nil && n.CustomDomain != "" && audience != "" && audience != authz.Dashboard:
		return "https://" + n.CustomDomain, nil
	}
	return s.BaseURL, err
}

// ErrNoDevice means that no request with the user code waits for an answer.
var ErrNoDevice = errors.New("no device waits with this code")

// FindDevice returns the request with the user code that waits for an answer.
func (s *Issuer) FindDevice(ctx context.Context, userCode string) (Device, error) {
	it, err := s.p.Get(ctx, s.deviceKey(userCode))
	if err != nil {
		return Device{}, fmt.Errorf("reading a device's request: %w", err)
	}
	if !it.Live(s.now()) || it.Text("status") != DevicePending {
		return Device{}, ErrNoDevice
	}
	d, err := deviceFrom(it)
	if err == nil && !s.now().Before(d.Expires) {
		err = ErrNoDevice
	}
	return d, err
}

// AnswerDevice stores the person's answer: d.Approval, or nil for a refusal. require is as in
// IssueCode. If the request was answered before, AnswerDevice changes nothing. It returns the
// state that the request then has, "" if the request is gone.
func (s *Issuer) AnswerDevice(ctx context.Context, d Device, require func(*table.Tx)) (state string, err error) {
	if !s.now().Before(d.Expires) {
		return "", nil
	}
	if state = DeviceDenied; d.Approval != nil {
		state = DeviceApproved
	}
	tx := s.p.Write()
	if require != nil {
		require(tx)
	}
	tx.Replace(d.stored(d.item.Key, state)).If("'status' = ?", DevicePending).Else(ErrNoDevice)
	if err = tx.Commit(ctx); !errors.Is(err, ErrNoDevice) {
		return state, err
	}
	it, err := s.p.Get(ctx, d.item.Key)
	if err != nil || !it.Live(s.now()) {
		return "", err
	}
	was, err := deviceFrom(it)
	if err != nil || was.CodeHash != d.CodeHash {
		return "", err
	}
	if state = it.Text("status"); state == deviceUsed {
		state = DeviceApproved
	}
	return state, nil
}

// stored returns the item of the request. What a poll noted meanwhile may be lost.
func (d Device) stored(key table.Key, state string) table.Item {
	return table.Item{Key: key, Type: "device-request", Version: max(d.item.Version, 1), Doc: d,
		Expires: d.Expires.Add(retention), Preserve: d.item.Unknown(), Attrs: map[string]any{"status": state,
			"polledAt": d.item.Int("polledAt"), "interval": max(d.item.Int("interval"), int64(pollInterval.Seconds()))}}
}
