package page

import (
	"html/template"
	"net/url"
)

// SignIn asks for mail address and password. In this and the other types,
// Action is the address of the form, relative to the page's own address.
type SignIn struct {
	Action  string
	CSRF    string // form token of package session
	Email   string // as typed before, or the client's login_hint
	Problem string // key of a text below "signin.", or ""
	Minutes int    // how long to wait, for the problem "throttled"
	Client  string // self-chosen name of the client; "" if no client is involved
	Own     string // whose application the client is: "company", "platform", or "" for somebody else's
	Company string // the name of the company that calls the client its own, or ""
	Logo    string // address of the client's logo, or ""
	Rider   bool
	Driver  bool
	Forgot  string // address of the page that mails a link to set a password, or ""
	SignUp  string // address of the page on which riders sign up, or ""
	Riders  string // address at which riders sign in, or ""
	Drivers string // address at which drivers sign in, or ""
	Invites string // name of the company that invites the person, who accepts by signing in, or ""
}

// Forgot asks for the mail address of the account whose password is forgotten, or
// of a rider who wants an account.
type Forgot struct {
	Action  string
	CSRF    string
	Email   string // as typed before
	Problem string // key of a text below "forgot.", or ""
	Rider   bool
	Driver  bool
	SignUp  bool   // the rider wants an account
	SignIn  string // address of the sign-in page, if SignUp is set
}

// Mailed says that a link was mailed, if the account exists. Its form asks for
// another one. After a sign-up it has no form, because there is one mail an hour.
type Mailed struct {
	Action string
	CSRF   string
	Email  string // as typed
	SignIn string // address of the sign-in page
	SignUp bool
}

// Company asks a rider or driver for the short name of a company. Its form sends
// the query again by GET, with the name as tenant_hint.
type Company struct {
	Action  string
	Query   url.Values // without tenant_hint
	Slug    string     // as typed, or as remembered
	Problem bool       // no company has the typed name
	Driver  bool
}

// Choice is one tenant of the picker.
type Choice struct{ Slug, Name string }

// Picker asks an operator with several memberships for one of them.
type Picker struct {
	Action  string
	CSRF    string
	Account string
	Choices []Choice // none if the account has no membership any more
	Switch  string   // address for signing in with another account
}

// Consent asks whether a client may have the scopes.
type Consent struct {
	Action  string
	CSRF    string
	Client  string // self-chosen name of the client
	Own     string // as in SignIn
	Logo    string // as in SignIn
	Host    string // receiver of the response: a host, or a private-use scheme
	Local   bool   // the response goes to an application on this device
	Site    string // host of the address that is the client_id, or "" for a registered client
	Account string
	Tenant  string
	Scopes  []string
	Later   []string // scopes that no operation needs yet
	Agents  string   // off, read, confirm or all if an agent will act, or ""
	Policy  string   // address of the client's privacy policy, shown only if https
	Terms   string   // address of the client's terms, shown only if https
	Switch  string   // address for signing in with another account
	Company string   // address for choosing another company, or ""
	Apps    string   // address of the connected applications
	Code    string   // code that the device shows to which the access goes, or ""
}

// Device asks for the code that a device shows.
type Device struct {
	Action  string
	CSRF    string
	Code    string // as typed, or of the link; "" if that is no code
	Problem string // key of a text below "device.", or ""
}

// App is a client to which the person consented in one or more tenants.
type App struct {
	ClientID string
	Name     string
	Grants   []Grant
}

// Grant is what a person allowed a client in one tenant.
type Grant struct {
	Tenant  string // id
	Company string // the tenant's name
	Allowed string // date (UTC) when the person last consented, YYYY-MM-DD
	Scopes  []string
	Later   []string // scopes that no operation needs yet
}

// Apps lists the clients that a person consented to, each with a button per tenant
// that ends the client's access.
type Apps struct {
	Action  string
	CSRF    string
	Account string
	Ended   bool // the access of one client was just ended
	Apps    []App
	Logout  string // address of the sign-out
}

// Logout asks whether to sign out.
type Logout struct {
	Action  string
	CSRF    string
	Account string
	Hidden  map[string]string // hidden inputs of the form
}

// Password asks for a new password.
type Password struct {
	Action  string
	CSRF    string
	Account string
	First   bool   // the account has no password yet
	Problem string // key of a text below "password.", or ""
	Least   int    // minimum length in characters
	Named   bool   // ask for the name of a new person
	Invites string // name of the company that invites the person, who accepts with the password, or ""
	Given   string // first name as typed before
	Family  string // last name as typed before
	Agree   string // value that agrees to the terms and the privacy policy of the branding; "" asks for no agreement
}

// Terms asks a rider to agree to the terms and the privacy policy of the branding,
// which have changed.
type Terms struct {
	Action  string
	CSRF    string
	Account string
	Agree   string // value that agrees
	Problem string // key of a text below "terms.", or ""
	Switch  string // address of a sign-in with another account
}

// Message is a short message, such as an error or a confirmation. Kind selects
// its texts: message.KIND.title, message.KIND.text and, for the link to Again,
// message.KIND.again.
type Message struct {
	Kind    string
	Detail  string // additional sentence in English, for the client's developer
	Request string // id of the request, or ""
	Back    Back   // zero for none
	// Again is the address of one of the server's pages where the person can
	// continue, or "". SignIn is that of the sign-in page, or "".
	Again  string
	SignIn string
}

// Back is the way to the client: a form if it has fields, else a link.
type Back struct {
	To     template.URL
	Host   string     // the text of the button or link
	Fields url.Values // the parameters that the form posts
}

// FormPost is a form that a script posts to the client. Without the script, the person
// presses its button.
type FormPost struct{ Back Back }

// Audience asks as what the person signs in.
type Audience struct {
	Client  string // self-chosen name of the client
	Choices []AudienceChoice
}

// AudienceChoice is an audience, and the address with which the request goes on.
type AudienceChoice struct{ Audience, To string }

func (FormPost) template() string { return "formpost" }
func (SignIn) template() string   { return "signin" }
func (Forgot) template() string   { return "forgot" }
func (Mailed) template() string   { return "mailed" }
func (Company) template() string  { return "company" }
func (Audience) template() string { return "audience" }
func (Picker) template() string   { return "picker" }
func (Consent) template() string  { return "consent" }
func (Apps) template() string     { return "apps" }
func (Logout) template() string   { return "logout" }
func (Password) template() string { return "password" }
func (Terms) template() string    { return "terms" }
func (Device) template() string   { return "device" }
func (Message) template() string  { return "message" }
