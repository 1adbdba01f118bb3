package plaintext_test

import (
	"strings"
	"testing"
	"unicode"

	"go.mau.fi/util/confusable"

	"svc/pkg/base/plaintext"
)

func TestLooksLikePlatform(t *testing.T) {
	for _, name := range []string{
		"svc", "SVC", "Svc Wallet", "s.v.c", "S V C", "S V C Support", "the S-V-C app", "s vc", "ꓢꓦꓚ", "ꓢꓦꓚ Security", "ꜱᴠᴄ",
		"ＳＶＣ", "ѕνс", "$vc", "5vc",
		"ŚV́Ç", "𝐒𝐕𝐂", "ⓈⓋⒸ", "🆂🆅🅲", "🅢🅥🅒", "🇸🇻🇨", "🄢🄥🄒", "🅂🅅🄲 Support", "S🆅C",
		"SⅤC", "svcsupport", "Support", "Official Support", "ОfficiaI Supроrt", "Security Team",
		"Sign in", "The Support App", "Admin1strat0r",
	} {
		if !plaintext.LooksLikePlatform(name) {
			t.Errorf("%q passes, though it looks like the platform's own name", name)
		}
	}
	for _, name := range []string{
		"Metro Rides", "Harbor Cabs", "My app", "App", "The App", "Support for Metro", "Service desk", "SVCB Bank",
		"Visual C", "S. Vance Cars", "Vsc", "Такси", "出租车", "Šváb Cars",
		"Team Rocket", "1 2 3 Cab", "", "!!!",
	} {
		if plaintext.LooksLikePlatform(name) {
			t.Errorf("%q is refused, though nobody takes it for the platform's own name", name)
		}
	}
}

// Every character that the standard's table maps to a letter of the platform's
// name is replaced by that letter, whatever its other case looks like.
func TestEveryConfusableOfTheName(t *testing.T) {
	const name = "svc"
	tried := 0
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if !unicode.IsGraphic(r) {
			continue
		}
		at := strings.Index(name, strings.ToLower(confusable.Skeleton(string(r))))
		if at < 0 || len(confusable.Skeleton(string(r))) != 1 {
			continue
		}
		tried++
		if twin := name[:at] + string(r) + name[at+1:]; !plaintext.LooksLikePlatform(twin) {
			t.Errorf("%q (%U) passes", twin, r)
		}
	}
	if tried < 50 {
		t.Errorf("only %d characters were tried", tried)
	}
}
