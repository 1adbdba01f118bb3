package jsonscan

// Scanner reads one JSON text from beginning to end and checks the grammar. It
// accepts invalid UTF-8, duplicate names and unpaired surrogates. The caller
// must check for these.
//
// After the first error, Failed reports true, and every method reads nothing
// and calls nothing. So a caller may check once, at the end.
type Scanner struct {
	in       []byte
	at       int
	depth    int
	maxDepth int
	failed   bool
	tooDeep  bool
}

// New returns a scanner of the text. Arrays and objects may be nested maxDepth
// deep.
func New(in []byte, maxDepth int) Scanner { return Scanner{in: in, maxDepth: maxDepth} }

// Fail stops the scan, as a syntax error does.
func (s *Scanner) Fail() { s.failed, s.at = true, len(s.in) }

// Failed reports whether the text is malformed, nested too deeply, or was
// failed by the caller.
func (s *Scanner) Failed() bool { return s.failed }

// TooDeep reports whether the scan failed because the text is nested too deeply.
func (s *Scanner) TooDeep() bool { return s.tooDeep }

// Depth returns the number of arrays and objects around the current position.
func (s *Scanner) Depth() int { return s.depth }

// Offset returns the number of bytes read so far. After an error it is the
// length of the text.
func (s *Scanner) Offset() int { return s.at }

// End reports whether the scan succeeded and only blanks are left.
func (s *Scanner) End() bool {
	s.Peek()
	return !s.failed && s.at == len(s.in)
}

// Peek skips blanks and returns the next byte without reading it, 0 at the end.
func (s *Scanner) Peek() byte {
	for ; s.at < len(s.in); s.at++ {
		switch c := s.in[s.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// take reads the next byte if it equals the given byte.
func (s *Scanner) take(c byte) bool {
	if s.Peek() != c {
		return false
	}
	s.at++
	return true
}

func (s *Scanner) expect(c byte) {
	if !s.take(c) {
		s.Fail()
	}
}

func (s *Scanner) open(c byte) {
	if s.Peek() == c && s.depth == s.maxDepth {
		s.tooDeep = true
		s.Fail()
	}
	s.expect(c)
	s.depth++
}

// Object reads an object. It calls member with each name; member must read the
// value.
func (s *Scanner) Object(member func(name Text)) {
	s.open('{')
	for first := true; !s.failed && !s.take('}'); first = false {
		if !first {
			s.expect(',')
		}
		name := s.Text()
		if s.expect(':'); !s.failed {
			member(name)
		}
	}
	s.depth--
}

// TypedObject is Object with a fast path for members like "name":{"S":"text"}:
// the value is an object without blanks, and its only member has a string and a
// name of one letter from A to Z. TypedObject calls typed with each such member.
// It calls other with the name of each other member; other must read the value.
func (s *Scanner) TypedObject(typed func(name Text, letter byte, text Text), other func(name Text)) {
	s.Object(func(name Text) {
		if letter, text, ok := s.typed(); ok {
			typed(name, letter, text)
		} else {
			other(name)
		}
	})
}

// typed reads a value of the form that TypedObject describes. If the next value
// has another form, typed reads nothing and ok is false.
func (s *Scanner) typed() (letter byte, text Text, ok bool) {
	const begin = len(`{"S":"`)
	if len(s.in)-s.at < begin || s.depth >= s.maxDepth || string(s.in[s.at:s.at+2]) != `{"` ||
		string(s.in[s.at+3:s.at+begin]) != `":"` {
		return 0, Text{}, false
	}
	was := s.at
	if letter = s.in[s.at+2]; letter < 'A' || letter > 'Z' {
		return 0, Text{}, false
	}
	s.at += begin - 1
	if text = s.Text(); !s.failed && s.at < len(s.in) && s.in[s.at] == '}' {
		s.at++
		return letter, text, true
	}
	s.at, s.failed = was, false // other reads the value again and finds the error
	return 0, Text{}, false
}

// Array reads an array. It calls element with each index; element must read the
// value.
func (s *Scanner) Array(element func(index int)) {
	s.open('[')
	for i := 0; !s.failed && !s.take(']'); i++ {
		if i > 0 {
			s.expect(',')
		}
		element(i)
	}
	s.depth--
}

// Value reads any JSON value and returns its text.
func (s *Scanner) Value() []byte {
	c := s.Peek()
	from := s.at
	switch c {
	case '{':
		s.Object(func(Text) { s.Value() })
	case '[':
		s.Array(func(int) { s.Value() })
	case '"':
		s.Text()
	case 't', 'f':
		s.Bool()
	case 'n':
		s.Null()
	default:
		s.Number()
	}
	if s.failed {
		return nil
	}
	return s.in[from:s.at]
}

// Bool reads true or false.
func (s *Scanner) Bool() bool {
	if s.Peek() == 't' {
		s.literal("true")
		return !s.failed
	}
	s.literal("false")
	return false
}

// Null reads null.
func (s *Scanner) Null() { s.Peek(); s.literal("null") }

func (s *Scanner) literal(word string) {
	if len(s.in)-s.at < len(word) || string(s.in[s.at:s.at+len(word)]) != word {
		s.Fail()
		return
	}
	s.at += len(word)
}

// Number reads a number and returns its text.
func (s *Scanner) Number() []byte {
	s.Peek()
	from := s.at
	s.skip('-', '-')
	if !s.skip('0', '0') {
		s.digits()
	}
	if s.skip('.', '.') {
		s.digits()
	}
	if s.skip('e', 'E') {
		s.skip('+', '-')
		s.digits()
	}
	return s.in[from:s.at]
}

// skip reads one byte if it is one of the two given bytes.
func (s *Scanner) skip(a, b byte) bool {
	if s.at < len(s.in) && (s.in[s.at] == a || s.in[s.at] == b) {
		s.at++
		return true
	}
	return false
}

// digits reads one or more digits.
func (s *Scanner) digits() {
	from := s.at
	for s.at < len(s.in) && '0' <= s.in[s.at] && s.in[s.at] <= '9' {
		s.at++
	}
	if s.at == from {
		s.Fail()
	}
}
