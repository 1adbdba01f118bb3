package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"svc/pkg/base/fault"
	"svc/pkg/data/table"
)

// fingerprintForm is the layout (Item.Layout) of records with the present form
// of the fingerprint. Never change a form: an upgrade would reject retries with an
// Idempotency-Key for a day. Add a form, and compare older records with the older
// form.
const fingerprintForm = 2

// fingerprint identifies the request that used an Idempotency-Key. It is a hash
// of method, path, query and body. For a request with a fault, it uses the bytes
// of the body, else the body's canonical form.
func (x *exchange) fingerprint() string {
	if len(x.faults) == 0 {
		return x.fingerprintOf(Canonical(x.body))
	}
	return x.fingerprintOf(x.body)
}

// repeats reports whether the request is the same as that of it, the record of a
// stored response. A record of layout 1 has a fingerprint of the present form or of an
// earlier one, which hashed the bytes of the body. If a newer build wrote the
// record in a form that this build does not know, the error is fault.Unavailable:
// only the newer build can compare.
func (x *exchange) repeats(it table.Item) (bool, error) {
	switch stored := it.Text("fingerprint"); {
	case stored == x.fingerprint():
		return true, nil
	case it.Layout > fingerprintForm:
		return false, fault.Unavailable(fmt.Errorf("the fingerprint of an Idempotency-Key has the form %d", it.Layout))
	default:
		return it.Layout < fingerprintForm && stored == x.fingerprintOf(x.body), nil
	}
}

// fingerprintOf returns the fingerprint of the request with the given body, in
// hexadecimal digits.
func (x *exchange) fingerprintOf(body []byte) string {
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
	out, err := json.Marshal(spelled(value)) // json.Marshal sorts the members
	if err != nil {
		return body
	}
	return out
}

// spelled replaces the numbers of a JSON value by their canonical form.
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
