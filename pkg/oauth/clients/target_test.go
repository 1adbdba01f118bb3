package clients

import (
	"slices"
	"strings"
	"testing"
)

// The host of a private scheme's address is not the target: the device hands the
// whole address to the application that claims the scheme.
func TestRedirectTargetOfAPrivateScheme(t *testing.T) {
	for uri, want := range map[string]struct {
		target string
		local  bool
	}{
		"com.evil.app://metro.example/cb": {"com.evil.app:", true},
		"com.evil.app:/cb":                {"com.evil.app:", true},
		"https://metro.example/cb":        {"metro.example", false},
		"http://127.0.0.1:8000/cb":        {"127.0.0.1:8000", true},
		"http://localhost:8000/cb":        {"localhost:8000", true},
		"http://localhost.evil/cb":        {"localhost.evil", false},
		"cursor://metro.example/cb":       {"cursor:", true},
	} {
		if target, local := RedirectTarget(uri); target != want.target || local != want.local {
			t.Errorf("%s: %q, on the device %v", uri, target, local)
		}
	}
}

// A host that a person would read as another one may not be registered.
func TestRedirectHosts(t *testing.T) {
	for uri, want := range map[string]bool{
		"https://m%D0%B5tro.example/cb": false, "https://m\u0435tro.example/cb": false, "https://metro%2eexample/cb": false,
		"https://[fe80::1%25eth0]/cb": false, "com.app://m%D0%B5tro.example/cb": false,
		"https://metro.example/cb": true, "https://metro.example:8443/cb%20x": true, "https://[2001:db8::1]:8443/cb": true,
		"https://xn--mtro-f5d.example/cb": true, "com.app:/cb": true, "com.app://metro.example/cb": true,
		"http://127.0.0.1/cb": true, "http://localhost:65535/cb": true, "http://localhost:99999/cb": false,
		"http://[::1]:0/cb":              false,
		"https://metro.example:65536/cb": false,
	} {
		if fault := redirectFault(uri, true, false); (fault == "") != want {
			t.Errorf("%s: %q", uri, fault)
		}
	}
}

// elsewhere are schemes that start something else than one application: a script, a
// setting, a call, a mount, another browser.
const elsewhere = `about afp android-app app-prefs bitcoin blob brave cal calshow chrome chrome-extension cid cifs content
	data devtools dict edge facetime facetime-audio feed file filesystem finger firefox firefox-focus fish ftp ftps git
	git+ssh googlechrome googlechromes gopher h323 hcp help intent ipp irc ircs itms itms-apps itms-appss itms-books
	itms-services jar javascript jdbc ldap ldaps livescript localhost magnet mailto maps market message microsoft-edge
	microsoft-edge-https mid mk mms mocha moz-extension ms-msdt ms-settings ms-word myapp news nfs nntp odc onenote
	opera opera-http photos-redirect prefs rdp res resource rsync rtmp rtsp search search-ms sftp shell shortcuts sip
	sips smb sms sgnl skype slack ssh steam svn tel telnet tez tg upi urn vbscript view-source vnc webcal whatsapp wss ws
	wyciwyg x-apple.systempreferences x-apple-helpbasic x-javascript x-man-page x-safari-https x-web-search xmpp zoommtg
	9p.example com com. .com com..app com.-app com.app- c web+com.example x-com.example
	microsoft.windows.camera microsoft.windows.photos.crop windows.tbauth com.microsoft.3dviewer com.apple.tv`

// Only a reversed domain name and the schemes of known applications may receive a code.
// Who has another address from before keeps it, as a public client.
func TestSchemes(t *testing.T) {
	for scheme := range strings.FieldsSeq(elsewhere) {
		for _, rest := range []string{"//cb", "/cb", "cb", ""} {
			uri := scheme + ":" + rest
			if redirectFault(uri, true, false) == "" || redirectFault(strings.ToUpper(uri), true, false) == "" {
				t.Errorf("%s is allowed", uri)
			}
		}
	}
	for _, scheme := range append(knownApps, "com.example.app", "io.flutter-app.x1", "msauth.com.example.app",
		"com.googleusercontent.apps.123-abc", "xn--80ak6aa92e.app", "COM.Example.App") {
		uri := scheme + "://callback"
		known := slices.Contains(knownApps, scheme)
		if fault := redirectFault(uri, true, false); fault != "" {
			t.Errorf("%s: %s", uri, fault)
		}
		if (redirectFault(uri, false, false) == "") == known {
			t.Errorf("%s of a confidential client", uri)
		}
	}
	for uri, public := range map[string]bool{"myapp://cb": true, "x-app.example:/cb": false} {
		if redirectFault(uri, true, true) != "" || (redirectFault(uri, false, true) == "") == public {
			t.Errorf("%s is not kept", uri)
		}
	}
}
