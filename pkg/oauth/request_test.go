package oauth

import "testing"

func FuzzRequest(f *testing.F) {
	f.Add("client_id=a&redirect_uri=b&state=c&prompt=none&max_age=1&scope=openid")
	f.Fuzz(func(t *testing.T, raw string) {
		a, err := parseRequest(raw)
		if err != nil {
			return
		}
		if a.clientID == "" || a.redirectURI == "" || len(a.state) > longestState {
			t.Errorf("%q: %+v", raw, a)
		}
		if a.read() == nil && (!s256.MatchString(a.challenge) || a.maxAge < 0 || (a.asks("none") && len(a.prompt) != 1)) {
			t.Errorf("%q: %+v", raw, a)
		}
		if _, err := parseRequest(a.query.Encode()); err != nil && len(a.query.Encode()) <= longestQuery {
			t.Errorf("%q is not read again: %v", raw, err)
		}
	})
}
