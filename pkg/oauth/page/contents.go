package page

import "html/template"

// SignIn asks for mail address and password. Addresses of forms are relative
// to the page's own.
type SignIn struct {
	Action  string
	CSRF    string
	Email   string // as typed before, or the client's login_hint
	Problem string // key of a text below "signin.", "" for none
	Client  string // what an unknown party calls itself; "" where no client asks
	Rider   bool
	Driver  bool
	Forgot  string // address where a person asks for a link to set a password, "" for none
}

// Forgot asks whose password is forgotten.
type Forgot struct {
	Action  string
	CSRF    string
	Email   string // as typed before
	Problem string // key of a text below "forgot.", "" for none
	Rider   bool
	Driver  bool
}

// Choice is one tenant of the picker.
type Choice struct{ Slug, Name string }

// Picker asks an operator with several memberships for one of them.
type Picker struct {
	Action  string
	CSRF    string
	Account string
	Choices []Choice
	Switch  string // address of the sign-in of another account
}

// Consent asks whether a client may have the scopes.
type Consent struct {
	Action  string
	CSRF    string
	Client  string // what an unknown party calls itself
	Host    string // where the answer goes: a host, or a private-use scheme
	Local   bool   // the answer goes to an application on this device
	Site    string // host of the address that names the client, "" for a registered one
	Account string
	Tenant  string
	Scopes  []string
	Policy  string // the client's own addresses, shown when https
	Terms   string
	Switch  string
}

// App is a client that holds the person's consent or tokens.
type App struct {
	ClientID string
	Name     string
	Tenant   string // id
	Company  string // the tenant's name
	Since    string // a date
	Scopes   []string
}

// Apps lists the clients that a person has let in, each with a way to end it.
type Apps struct {
	Action  string
	CSRF    string
	Account string
	Ended   bool // one was just ended
	Apps    []App
	Logout  string // address of the sign-out
}

// Logout asks whether to sign out.
type Logout struct {
	Action  string
	CSRF    string
	Account string
	Hidden  map[string]string // what the form carries on
}

// Password asks for a new password.
type Password struct {
	Action  string
	CSRF    string
	Account string
	First   bool   // set for the first time
	Problem string // key of a text below "password.", "" for none
	Least   int    // characters
}

// Message says one thing: an error, or that something was done. Kind is a key
// below "message." whose ".title" and ".text" are shown.
type Message struct {
	Kind    string
	Detail  string // one more sentence in English, for the client's developer
	Request string // id of the request; "" for none
	// Back is where the application waits for the answer, for the person to go
	// or not; Host is what is said of it. "" for none.
	Back template.URL
	Host string
}

func (SignIn) template() string   { return "signin" }
func (Forgot) template() string   { return "forgot" }
func (Picker) template() string   { return "picker" }
func (Consent) template() string  { return "consent" }
func (Apps) template() string     { return "apps" }
func (Logout) template() string   { return "logout" }
func (Password) template() string { return "password" }
func (Message) template() string  { return "message" }
