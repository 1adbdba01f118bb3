package outbound_test

import (
	"net/url"
	"testing"

	"svc/pkg/base/outbound"
)

// An address that is written in another way is judged by what a resolver makes of it.
func TestCheckHost(t *testing.T) {
	for text, ok := range map[string]bool{
		"https://maps.metro.example/a": true, "https://maps.metro.example:8443": true, "https://8.8.8.8": true,
		"https://bücher.example": true, "https://maps.metro.example.": true,
		"https://①②⑦.⓪.⓪.①": false, "https://１２７.0.0.1": false, "https://ⓛocalhost": false, "https://⑩.0.0.①": false,
		"https://8.8.8.⑧": true, "https://127。0。0。1": false,
		"https://maps.metro.example:0": false, "https://maps.metro.example:65536": false,
		"https://maps.metro.example:99999": false,
		"https://maps.metro.example:65535": true,
		"https://10.0.0.1":                 false, "https://[::1]": false, "https://0x7f.1": false,
		"https://2130706433": false,
		"https://localhost.": false, "https://db.internal": false, "https://printer": false, "https://DB.Internal": false,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if message := outbound.CheckHost(u); (message == "") != ok {
			t.Errorf("%s: %q", text, message)
		}
	}
}
