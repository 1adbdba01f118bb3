// Package codec reads and writes JSON with the implementation of encoding/json/v2 and
// the behaviour of encoding/json. Numbers are exact: json.Number and money.Amount
// keep their digits.
package codec

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"svc/pkg/base/money"
)

// writing has the options of Marshal, and reading those of Unmarshal.
var (
	writing = json.JoinOptions(jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false),
		json.WithMarshalers(json.JoinMarshalers(json.MarshalToFunc(writeNumber[stdjson.Number]),
			json.MarshalToFunc(writeNumber[money.Amount]))))
	reading = json.JoinOptions(jsonv1.DefaultOptionsV1(),
		json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(readNumber), json.UnmarshalFromFunc(readAmount))))
)

// OrZero returns the value of an optional member, or its type's zero value if there is none.
func OrZero[T any](member *T) (value T) {
	if member != nil {
		value = *member
	}
	return value
}

// Marshal returns the JSON of v, as encoding/json writes it with SetEscapeHTML
// switched off.
func Marshal(v any) ([]byte, error) { return json.Marshal(v, writing) }

// Unmarshal decodes JSON as encoding/json does, but rejects a number in quotes for a
// json.Number.
func Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v, reading) }

// Field returns the path, such as a.b, of the member whose value does not fit its Go
// type. It returns "" if err is another error.
func Field(err error) string {
	var wrong *jsonv1.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return wrong.Field
	}
	return ""
}

// writeNumber writes a number with its digits unchanged.
func writeNumber[T ~string](enc *jsontext.Encoder, n T) error {
	if n == "" {
		n = "0" // as encoding/json does
	}
	value := append(jsontext.Value(enc.AvailableBuffer()), n...)
	if value.Kind() != '0' {
		return fmt.Errorf("%q is not a number", string(n))
	}
	return enc.WriteValue(value)
}

// readNumber reads a number with its digits unchanged. null changes nothing.
func readNumber(dec *jsontext.Decoder, n *stdjson.Number) error {
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	switch value.Kind() {
	case '0':
		*n = stdjson.Number(value)
		return nil
	case 'n':
		return nil
	}
	return errors.New("expected a number")
}

// readAmount reads an amount of money with Amount.UnmarshalJSON, which rejects a number
// that is not in range.
func readAmount(dec *jsontext.Decoder, a *money.Amount) error {
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	return a.UnmarshalJSON(value)
}

// ErrNotObject is the error of Members for JSON that is not an object.
var ErrNotObject = errors.New("not a JSON object")

// Members calls each with every member of a JSON object, repeated ones too. The
// value is valid until each returns. If data is not exactly one JSON object, Members
// returns an error, maybe after it has called each.
func Members(data []byte, each func(name string, value jsontext.Value)) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if dec.PeekKind() != '{' {
		return ErrNotObject
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		text := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		each(text, value)
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	return End(dec)
}

// End returns an error if more than white space follows what the decoder has
// read.
func End(dec *jsontext.Decoder) error {
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("more follows the end of a JSON value")
	}
	return nil
}
