package request

import "testing"

func FuzzRequest(f *testing.F) {
	f.Add("client_id=a&redirect_uri=b&state=c&prompt=none&max_age=1&scope=openid")
	f.Fuzz(func(t *testing.T, raw string) {
		a, err := Parse(raw)
		if err != nil {
			return
		}
		if a.ClientID == "" || a.RedirectURI == "" || len(a.State) > longestState {
			t.Errorf("%q: %+v", raw, a)
		}
		if a.Read() == nil && (!Secret256.MatchString(a.Challenge) || a.MaxAge < 0 ||
			(a.Asks("none") && len(a.Prompt) != 1)) {
			t.Errorf("%q: %+v", raw, a)
		}
		if _, err := Parse(a.Query.Encode()); err != nil && len(a.Query.Encode()) <= LongestQuery {
			t.Errorf("%q is not read again: %v", raw, err)
		}
	})
}
