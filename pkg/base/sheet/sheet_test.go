package sheet

import "testing"

// TestGuarded: what a spreadsheet program would compute begins with an apostrophe,
// and nothing else does.
func TestGuarded(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "Ann": "Ann", "O'Neil-Smith": "O'Neil-Smith", "a=b": "a=b", "ann@metro.example": "ann@metro.example",
		"=1+1": "'=1+1", "@SUM(A1)": "'@SUM(A1)", "-2+3+cmd|' /C calc'!A0": "'-2+3+cmd|' /C calc'!A0", "+A1": "'+A1",
		" \t=1": " \t'=1", "\r=1": "\r'=1", "＝1+1": "'＝1+1", "-": "'-",
		"a;=1": "a;'=1", "a\n=1": "a\n'=1", "a\t@x": "a\t'@x", "a;  +x": "a;  '+x",
		"+12125550181": "+12125550181", "+1 212 555 0181": "+1 212 555 0181", "+1-212-555": "'+1-212-555",
		"-12.50": "-12.50", "-12.50.1": "'-12.50.1", "'=1": "''=1", "''=1": "'''=1", "x;'=1": "x;''=1",
		"'+1 212 555 0181": "''+1 212 555 0181", "'Ann": "'Ann",
	} {
		if got := guarded(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if back := Unguarded(want); back != text {
			t.Errorf("%q is read as %q, want %q", want, back, text)
		}
	}
}
