package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
)

// fingerprint identifies the request that used an Idempotency-Key. It is a hash
// of method, path, query and body. For a request with a fault, it uses the bytes
// of the body, else the body's canonical form.
func (x *exchange) fingerprint() string {
	body := x.body
	if len(x.faults) == 0 {
		body = Canonical(body)
	}
	h := sha256.New()
	for _, part := range []string{x.r.Method, x.r.URL.EscapedPath(), x.r.URL.RawQuery, string(body)} {
		sum := sha256.Sum256([]byte(part))
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Canonical returns a body in canonical form: equal JSON values become equal
// bytes. It drops white space, sorts members and writes each number in one
// form. It ignores what follows the value. A body that does not begin with a
// JSON value stays unchanged.
func Canonical(body []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return body
	}
	out, err := json.Marshal(spelled(value)) // sorts members
	if err != nil {
		return body
	}
	return out
}

// spelled replaces the numbers of a value by their canonical form.
func spelled(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = spelled(member)
		}
	case []any:
		for i, element := range v {
			v[i] = spelled(element)
		}
	case json.Number:
		return spelling(v)
	}
	return value
}

// spelling returns a number exactly, as digits and an exponent: 1.50 and 15e-1
// become 15e-1, 0.0 and -0 become 0. A number whose exponent does not fit into
// an int stays unchanged.
func spelling(n json.Number) json.Number {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(string(n)), "e")
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	power := 0
	if exponent != "" {
		var err error
		if power, err = strconv.Atoi(exponent); err != nil {
			return n
		}
	}
	integer, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(integer+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	if significant == "" {
		return "0"
	}
	power += len(digits) - len(significant) - len(fraction)
	return json.Number(sign + significant + "e" + strconv.Itoa(power))
}
