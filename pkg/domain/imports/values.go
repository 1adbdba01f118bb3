package imports

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/pkg/base/timestamp"
)

// shortened matches a number in scientific notation, in which a spreadsheet or another
// program shows a long number. The last digits of the number may be lost.
var shortened = regexp.MustCompile(`^'?[0-9]{1,3}([.,][0-9]+)?[eE]\+[0-9]{2,}$|` +
	`^'?[0-9]{1,3}[.,][0-9]+ ?[eE][0-9]{1,3}$`)

// errorValues are what spreadsheets show for a value that they cannot compute.
var errorValues = []string{"#N/A", "#NV", "#REF!", "#VALUE!", "#NAME?", "#DIV/0!", "#NUM!", "#NULL!", "#SPILL!",
	"#CALC!"}

// identifiers are the columns with a number or code that identifies a person or a ride.
var identifiers = []string{"externalId", "tripId", "driverExternalId", "phone"}

// computed returns the fault of a cell that a spreadsheet has damaged: an error value, or
// an identifier whose last digits are lost. It returns nil for any other text.
func computed(column, text string) *Fault {
	switch {
	case slices.Contains(errorValues, text) || strings.Trim(text, "#") == "" && len(text) > 2:
		return &Fault{Column: column, Code: "invalid", Message: "A spreadsheet has written an error in place of the value. " +
			"Mend the cell, or make it empty."}
	case slices.Contains(identifiers, column) && shortened.MatchString(text):
		return &Fault{Column: column, Code: "invalid", Message: "A spreadsheet has shortened the number, and its last " +
			"digits are lost. Format the column as text before the digits are entered, and save the file again."}
	}
	return nil
}

// grouped matches a number whose digits are in groups of three, all with the same
// separator.
var grouped = regexp.MustCompile(`^[+-]?[0-9]{1,3}(?:( [0-9]{3})+|('[0-9]{3})+|(\.[0-9]{3})+|(,[0-9]{3})+)(?:[.,][0-9]*)?$`)

// blanks replaces the spaces, apostrophes and minus signs of typography with those of
// ASCII.
var blanks = strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2009", " ", "’", "'", "−", "-")

// number returns the number in a cell's text, with a decimal point and without separators
// of groups. It returns a fault if the text could mean two numbers: it has a comma although
// o.Decimal is not comma, or o.Decimal is comma and the text has a single group after a
// point, as in 1.234.
func (o Options) number(column, text string) (string, *Fault) {
	decimal, other := ".", ","
	if o.Decimal == "comma" {
		decimal, other = ",", "."
	}
	text = blanks.Replace(text)
	whole, fraction, _ := strings.Cut(text, decimal)
	if grouped.MatchString(text) && !strings.Contains(fraction, other) {
		bare := strings.NewReplacer(" ", "", "'", "", other, "").Replace(whole)
		if strings.Count(whole, other) != 1 || strings.Contains(text, decimal) {
			return strings.TrimSuffix(bare+"."+fraction, "."), nil
		}
	}
	switch {
	case o.Decimal != "comma" && strings.Contains(text, ","):
		return "", &Fault{Column: column, Code: "invalid",
			Message: "The number has a comma. If it separates the decimals, name it: decimal is comma."}
	case o.Decimal == "comma" && grouped.MatchString(text) && strings.Contains(text, "."):
		return "", &Fault{Column: column, Code: "invalid", Message: "The point may separate thousands or decimals. Write " +
			"the number with a comma and its decimals, as in 1.234,00, or without the point."}
	}
	return strings.Replace(text, decimal, ".", 1), nil
}

// degrees returns the latitude or longitude in the cell of the column, with a decimal
// point. It does not check the range.
func (o Options) degrees(cells map[string]string, column string) (json.Number, *Fault) {
	text := blanks.Replace(cells[column])
	switch {
	case text == "":
		return "", &Fault{Column: column, Code: "required", Message: "Expected degrees."}
	case o.Decimal == "comma":
		text = strings.Replace(text, ",", ".", 1)
	case strings.Contains(text, ","):
		return "", &Fault{Column: column, Code: "invalid",
			Message: "The number has a comma. If it separates the decimals, name it: decimal is comma."}
	}
	return json.Number(text), nil
}

var (
	// clock matches a date and a time. Its groups are the date, the time, A or P of AM and
	// PM, and the offset.
	clock = regexp.MustCompile(`^(\S+?)(?:,? +| *T *|[tT_])([0-9]{1,2}(?:[:.][0-9]{2}){1,2}(?:[.,][0-9]+)?)` +
		`(?: *([AaPp])\.?[Mm]\.?)? *([+\-−][0-9:]+|[Zz])?(?: *(?:UTC|GMT|[Zz]))?$`)
	// utc matches the name of UTC behind a time without an offset.
	utc = regexp.MustCompile(`[0-9MmAaPp.] *(?:UTC|GMT)$`)
	// numbers matches a date that does not begin with the year, such as 31/01/2026.
	numbers = regexp.MustCompile(`^([0-9]{1,2})([./-])([0-9]{1,2})[./-]([0-9]{4})$`)
)

// iso returns the time in a cell's text in the form of ISO 8601. o.Dates is the order of
// day and month. iso returns a text that it does not recognize as it is.
func (o Options) iso(text string) string {
	text = blanks.Replace(text)
	date, rest := text, ""
	if part := clock.FindStringSubmatch(text); part != nil {
		clock, seconds, _ := strings.Cut(part[2], ".")
		if !strings.Contains(clock, ":") { // a time with points, such as 8.30 or 8.30.00
			minutes, rest, more := strings.Cut(seconds, ".")
			if clock, seconds = clock+":"+minutes, ""; more {
				clock += ":" + rest
			}
		} else if seconds != "" {
			seconds = "." + seconds
		}
		hours, minutes, _ := strings.Cut(clock, ":")
		hour, _ := strconv.Atoi(hours)
		if part[3] != "" {
			if hour < 1 || hour > 12 {
				return text
			}
			if hour %= 12; strings.EqualFold(part[3], "p") {
				hour += 12
			}
		}
		offset := part[4]
		if offset == "" && utc.MatchString(text) {
			offset = "Z"
		}
		date, rest = part[1], fmt.Sprintf("T%02d:%s%s%s", hour, minutes, seconds, offset)
	}
	if part := numbers.FindStringSubmatch(date); part != nil && o.Dates != "" && o.Dates != "iso" {
		day, month := part[1], part[3]
		if o.Dates == "mdy" {
			day, month = month, day
		}
		date = part[4] + "-" + ("0" + month)[len(month)-1:] + "-" + ("0" + day)[len(day)-1:]
	}
	return date + rest
}

// when returns the time in the cell of the column. A time without an offset is in the
// company's time zone. When clocks are put back, such a time occurs twice. The result is the
// first of the two, but the second if the first is before the time not. not may be zero.
func (o Options) when(g Target, cells map[string]string, column string, not time.Time) (time.Time, *Fault) {
	in, err := timestamp.ParseInput(o.iso(cells[column]))
	if err != nil {
		message := "Expected a time such as 2026-01-31T08:00:00Z, or 2026-01-31 08:00 in the company's time zone."
		if numbers.MatchString(strings.Fields(cells[column])[0]) {
			message += " Or name the order of the date's numbers: dates is dmy or mdy."
		}
		return time.Time{}, &Fault{Column: column, Code: "invalid", Message: message}
	}
	at, zoned := in.Zoned()
	if !zoned && !in.IsDate() {
		at = in.In(g.Zone, not)
	} else if !zoned {
		at = in.From(g.Zone)
	}
	return at.Truncate(time.Millisecond), nil
}
