package throttle

import (
	"net/netip"
	"testing"
)

func TestNetwork(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
		"2001:db8:1:2::1%eth0": "2001:db8:1:2::/64",
		"":                     "", "a name": "a name",
	} {
		if got := Network(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// FuzzNetwork: all addresses of a network have the same counter key.
func FuzzNetwork(f *testing.F) {
	f.Add("2001:db8::1")
	f.Add("192.0.2.1")
	f.Fuzz(func(t *testing.T, address string) {
		at, err := netip.ParseAddr(address)
		got := Network(address)
		if err != nil {
			if got != address {
				t.Errorf("%q gives %q", address, got)
			}
			return
		}
		if again := Network(at.String()); again != got {
			t.Errorf("%q gives %q, and %q %q", address, got, at, again)
		}
	})
}
