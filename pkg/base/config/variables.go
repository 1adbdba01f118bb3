package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Variable is an environment variable.
type Variable struct {
	Name    string
	Default string // what an absent or empty variable means
	Accepts string
	Meaning string
	read    func(c *Config, text string) error
}

// Variables are all environment variables that the functions read.
var Variables = slices.Concat([]Variable{
	{"TABLE_NAME", "none", "the name of a table", "The table of the service.",
		anyText(func(c *Config) *string { return &c.Table })},
	{"AWS_ENDPOINT_URL_DYNAMODB", "the region's own", "a URL", "The address of DynamoDB.",
		address(func(c *Config) *string { return &c.Endpoint })},
	{"BASE_URL", "the API's own address, from the first event", "a URL",
		"The public address of the service, which is also the issuer of tokens.",
		address(func(c *Config) *string { return &c.BaseURL })},
	{"KEY_ID", "none", "the ARN or id of a KMS key", "The key that seals the signing keys.",
		anyText(func(c *Config) *string { return &c.KeyID })},
	{"SEALING_KEY_FILE", "none", "a path", "Without KEY_ID: the file with the key that seals the signing keys.",
		anyText(func(c *Config) *string { return &c.SealingKeyFile })},
	{"MAIL_FROM", "no mails", "a mail address from which SES may send",
		"The sender of all mails.",
		anyText(func(c *Config) *string { return &c.MailFrom })},
	{"MAIL_LIMITS", mailDefaults(), "kind=number, separated by commas; a number is 1 to 1000000",
		"Mails in an hour: invitations and mails about webhooks of one company, links to one network.", mailLimits},
	{"MAIL_CONFIGURATION_SET", "none", "the name of a configuration set in SES",
		"SES reports bounces and complaints by it.", anyText(func(c *Config) *string { return &c.MailConfigurationSet })},
	{"FILES_BUCKET", "none", "the name of an S3 bucket", "The bucket for files, such as exports.",
		anyText(func(c *Config) *string { return &c.FilesBucket })},
	{"LOG_LEVEL", "INFO; WARN for `svc dev`", "DEBUG, INFO, WARN or ERROR", "The least level of the lines in the log.",
		level},
	{"TENANT_RATE", "no limit", "0 (no limit) to 1000000", "Requests per second of one tenant that one process serves.",
		rate(func(c *Config) *int { return &c.TenantRate })},
	{"CLIENT_RATE", "no limit", "0 (no limit) to 1000000",
		"Requests per second of one client in one tenant that one process serves.",
		rate(func(c *Config) *int { return &c.ClientRate })},
	{"EVENT_STREAMS", "0: a process counts its own", "0 to 1000000",
		"Streams of events at once in all processes of EventsFunction; one company has at most half of them.",
		rate(func(c *Config) *int { return &c.EventStreams })},
	{"KEYED_CURSORS", "false", "true or false",
		"A key authenticates the cursors of the event feed. A build without this variable does not read them.",
		keyedCursors},
	{"REFRESH_GRACE", "0s", "a duration of 0s or more, such as 10s; at most 30s are used",
		"How long the previous refresh token may be used again.", grace},
	{"ORIGIN_SECRET_SHA256", "none: every request is served",
		"SHA-256 hashes of 64 hex digits, separated by commas; two while one replaces the other",
		"Only requests with an origin secret that has one of these hashes are served.", secrets},
	{"SWITCHED_OFF", "nothing", "operation ids, registration, sign-in, agents; separated by commas or spaces",
		"These operations get a 503. An unknown word is logged as an error.",
		words(func(c *Config) *[]string { return &c.SwitchedOff })},
	{"LOST_RECORDS", "none: the stream delivers such records again", "the name of a bucket in S3",
		"Where settlement and projection put records that no retry can process.",
		anyText(func(c *Config) *string { return &c.LostRecords })},
	{"WEBHOOK_QUEUE", "none: the process sends webhooks itself", "the URL of a queue in SQS",
		"Where projection, the sender of webhooks and its sweep put what is to be sent.",
		address(func(c *Config) *string { return &c.WebhookQueue })},
	{"DISPATCH_QUEUE", "none: the function makes the steps itself", "the URL of a queue in SQS",
		"Where projection and dispatch send messages about trips that need a driver.",
		address(func(c *Config) *string { return &c.DispatchQueue })},
	{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "unknown", "a number of megabytes", "Set by Lambda.", memory},
	{"AWS_LAMBDA_RUNTIME_API", "none", "a host and port", "Set by Lambda.",
		anyText(func(c *Config) *string { return &c.RuntimeAPI })},
	{"AWS_REGION", "AWS_DEFAULT_REGION", "a region of AWS", "The region. Set by Lambda.",
		anyText(func(c *Config) *string { return &c.AWS.Region })},
	{"AWS_DEFAULT_REGION", "none", "a region of AWS", "The region without AWS_REGION.",
		anyText(func(c *Config) *string { return &c.AWS.DefaultRegion })},
	{"AWS_ACCESS_KEY_ID", "none", "the id of an access key", "The credentials. Set by Lambda.",
		anyText(func(c *Config) *string { return &c.AWS.AccessKey })},
	{"AWS_SECRET_ACCESS_KEY", "none", "the secret of the access key", "The credentials. Set by Lambda.",
		anyText(func(c *Config) *string { return &c.AWS.SecretKey })},
	{"AWS_SESSION_TOKEN", "none", "a session token", "The credentials. Set by Lambda.",
		anyText(func(c *Config) *string { return &c.AWS.SessionToken })},
	{"AWS_ENDPOINT_URL", "the region's own", "a URL", "The address of every service of AWS without a variable of its own.",
		address(func(c *Config) *string { return &c.AWS.Endpoint })},
	{"GOGC", "1000", "as in Go's package runtime", "When garbage is collected.",
		anyText(func(c *Config) *string { return &c.Collector })},
	{"GOMEMLIMIT", "three quarters of the function's memory", "as in Go's package runtime", "The limit of Go's memory.",
		anyText(func(c *Config) *string { return &c.MemoryLimit })},
	{"GOMAXPROCS", "1 in a function of at most 1,769 MB", "as in Go's package runtime",
		"How many threads run Go code at a time.", anyText(func(c *Config) *string { return &c.ProcessLimit })},
}, endpoints("CODEDEPLOY", "KMS", "LAMBDA", "S3", "SESV2", "SQS"), versions("OAuth", "Trips", "Fleet", "Settings",
	"Reports", "Delivery", "Feedback", "Me", "Docs", "MCP", "Events"))

// CommandVariables are the environment variables that only svc reads.
var CommandVariables = []Variable{
	{"PORT", "8080", "a number from 0 to 65535; 0 picks a free port", "The port of `svc dev`, unless it has `--port`.",
		port},
	{"LOG_GROUP", "none", "the stack's output LogGroups", "Where `svc logs` searches.",
		words(func(c *Config) *[]string { return &c.LogGroups })},
	{"STREAM_FUNCTIONS", "the lag is unknown", "the stack's output StreamFunctions", "Whose lag `svc status` shows.",
		words(func(c *Config) *[]string { return &c.StreamFunctions })},
	{"SETTLEMENT_DEAD_LETTERS", "none", "the URL of a queue in SQS", "The dead letters of settlement.",
		deadLetters("settlement")},
	{"PROJECTION_DEAD_LETTERS", "none", "the URL of a queue in SQS", "The dead letters of projection.",
		deadLetters("projection")},
	{"AWS_PROFILE", "the default one", "a profile of the AWS SDK", "Names the target of a change. The SDK reads it too.",
		anyText(func(c *Config) *string { return &c.Profile })},
	{"SVC_ENGINE", "dynoxide, else DynamoDB Local", "dynoxide or dynamodb-local", "The engine on this machine.",
		anyText(func(c *Config) *string { return &c.Engine })},
	{"SVC_ENGINE_PATH", "beside `svc`, else in `bin`", "a path", "The program of the engine.",
		anyText(func(c *Config) *string { return &c.EnginePath })},
	{"CHROME", "an installed one", "a path", "The browser of the tests.",
		anyText(func(c *Config) *string { return &c.Browser })},
	{"NO_COLOR", "colors on a terminal", "any text", "`svc dev` prints requests without colors.",
		func(c *Config, _ string) error {
			c.NoColor = true
			return nil
		}},
	{"SVC_PROFILE", "default", "a name of a profile", "The sign-in that `svc api` uses without `--profile`.",
		anyText(func(c *Config) *string { return &c.SignInProfile })},
	{"SVC_CLIENT_ID", "`svc api` acts for a person", "the `clientId` of a machine",
		"As which machine `svc api` signs in, at BASE_URL.", anyText(func(c *Config) *string { return &c.MachineID })},
	{"SVC_CLIENT_SECRET", "none", "a secret of the machine", "The secret of SVC_CLIENT_ID. Only memory has its tokens.",
		anyText(func(c *Config) *string { return &c.MachineSecret })},
	{"DISPLAY", "no browser, except on macOS", "set by the desktop", "`svc login` opens a browser.",
		anyText(func(c *Config) *string { return &c.Display })},
	{"WAYLAND_DISPLAY", "no browser, except on macOS", "set by the desktop", "`svc login` opens a browser.",
		anyText(func(c *Config) *string { return &c.Wayland })},
	{"SSH_CONNECTION", "the person sits at this machine", "set by SSH", "`svc login` shows a code, and opens no browser.",
		anyText(func(c *Config) *string { return &c.SSHSession })},
}

// endpoints returns the variables with the addresses of services.
func endpoints(services ...string) (out []Variable) {
	for _, service := range services {
		out = append(out, Variable{"AWS_ENDPOINT_URL_" + service, "the region's own", "a URL",
			"The address of this service of AWS.", func(c *Config, text string) error {
				c.AWS.Endpoints[service] = text
				return isURL(text)
			}})
	}
	return out
}

// versions returns the variables with the versions that the smoke test calls.
func versions(groups ...string) (out []Variable) {
	for _, group := range groups {
		name := group + "Function"
		out = append(out, Variable{name, "none", "the ARN of a function's version",
			"For the smoke test of a deployment: the version that it calls.", func(c *Config, text string) error {
				c.Versions[name] = text
				return nil
			}})
	}
	return out
}

// anyText reads a variable that may be any text.
func anyText(of func(c *Config) *string) func(*Config, string) error {
	return func(c *Config, text string) error {
		*of(c) = text
		return nil
	}
}

// address reads a URL without the slashes at its end.
func address(of func(c *Config) *string) func(*Config, string) error {
	return func(c *Config, text string) error {
		*of(c) = strings.TrimRight(text, "/")
		return isURL(text)
	}
}

func isURL(text string) error {
	if u, err := url.Parse(text); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("is %q", text)
	}
	return nil
}

func words(of func(c *Config) *[]string) func(*Config, string) error {
	return func(c *Config, text string) error {
		*of(c) = split(text)
		return nil
	}
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

func deadLetters(word string) func(*Config, string) error {
	return func(c *Config, text string) error {
		c.DeadLetters[word] = text
		return isURL(text)
	}
}

// number reads an integer of the range.
func number(text string, least, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("is %q", text)
	}
	return n, nil
}

func rate(of func(c *Config) *int) func(*Config, string) error {
	return func(c *Config, text string) (err error) {
		*of(c), err = number(text, 0, 1_000_000)
		return err
	}
}

func keyedCursors(c *Config, text string) error {
	if c.KeyedCursors = text == "true"; text != "true" && text != "false" {
		return fmt.Errorf("is %q", text)
	}
	return nil
}

func port(c *Config, text string) error {
	n, err := number(text, 0, 65535)
	c.Port = &n
	return err
}

func memory(c *Config, text string) error {
	n, err := number(text, 1, 1<<30)
	c.Memory = int64(n)
	return err
}

func level(c *Config, text string) error {
	c.LogLevel = new(slog.Level)
	if err := c.LogLevel.UnmarshalText([]byte(text)); err != nil {
		c.LogLevel = nil
		return fmt.Errorf("is %q", text)
	}
	return nil
}

func grace(c *Config, text string) (err error) {
	if c.RefreshGrace, err = time.ParseDuration(text); err != nil || c.RefreshGrace < 0 {
		return fmt.Errorf("is %q", text)
	}
	return nil
}

// secrets shows no value in an error, because somebody may have put the secret itself
// there.
func secrets(c *Config, text string) error {
	for _, hash := range split(text) {
		sum, err := hex.DecodeString(hash)
		if err != nil || len(sum) != sha256.Size {
			return errors.New("has a word that is no hash")
		}
		c.OriginSecrets = append(c.OriginSecrets, sum)
	}
	return nil
}
