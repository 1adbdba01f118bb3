package customer

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"svc/pkg/base/phone"
	"svc/pkg/base/plaintext"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
)

// A search finds a customer by the suffixes of the customer's words (Words).
// Each suffix has one row, because every word that contains q has a suffix that
// begins with q. A partition contains the rows with the same first character,
// ordered by text, then by customer.
//
// A set of rows is written once. Its only change is that it gets an end time:
// when the words change, a new set begins and the old one ends. A walk through
// the pages sees the rows that were valid when it began, and the first rows of
// customers created since. It shows each customer at most once, at the smallest
// matching suffix, even if customers are renamed meanwhile.

// longest is the maximum length of a suffix row's text, in characters. For a
// longer q, the rows are only candidates. Search compares all of q with the
// customer's words.
const longest = 64

// retention is how long a set of rows stays after its end, for walks that began
// earlier.
const retention = 24 * time.Hour

// digitsOf returns the digits of a folded text.
func digitsOf(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}

// Words returns the folded texts that find a customer, sorted. It omits empty
// texts and texts that are contained in another text.
func (r Record) Words() []string {
	words := []string{r.Name, strings.TrimSpace(r.FirstName + " " + r.LastName), r.FirstName, r.LastName, r.Email,
		r.ExternalID}
	if digits, isNumber := phone.Digits(r.ExternalID); isNumber { // as lookedFor reads it
		words = append(words, digits)
	}
	if r.Phone != nil {
		words = append(words, *r.Phone, digitsOf(plaintext.Fold(*r.Phone)))
	}
	if r.Number.Of(r.Phone) {
		words = append(words, r.Number.E164, r.Number.National)
	}
	for i := range words {
		words[i] = plaintext.Fold(words[i])
	}
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	var out []string
	for _, word := range words {
		if !slices.ContainsFunc(out, func(longer string) bool { return strings.Contains(longer, word) }) {
			out = append(out, word)
		}
	}
	slices.Sort(out)
	return out
}

// RowSet is a set of suffix rows: its words, and the time span in which it is
// valid.
type RowSet struct {
	Words []string `json:"words"`
	N     int      `json:"n"`               // counts the customer's sets from 1
	Since string   `json:"since"`           // inclusive
	Until string   `json:"until,omitempty"` // exclusive; "" while the set is valid
}

var _ = table.Kind[any]{Type: "suffix", Personal: "words by which a search finds a rider", Erasure: "deletes"}

// Rows returns the set's items. The items of an ended set have its end time and
// expire after retention.
func (s RowSet) Rows(t table.Tenant, id string) []table.Item {
	suffixes := suffixesOf(s.Words)
	out := make([]table.Item, len(suffixes))
	for i, suffix := range suffixes {
		out[i] = table.Item{Key: suffixKey(t, suffix, id, s.N), Type: "suffix",
			Attrs: map[string]any{"since": s.Since, "first": s.N == 1}}
		if i > 0 {
			out[i].Attrs["shared"] = shared(suffixes[i-1], suffix)
		}
		if s.Until != "" {
			out[i].Attrs["until"] = s.Until
			if until, err := timestamp.Parse(s.Until); err == nil {
				out[i].Expires = until.Add(retention)
			}
		}
	}
	return out
}

// suffixesOf returns the distinct suffixes of the words, in the order of their
// rows. Each is cut to longest characters.
func suffixesOf(words []string) []string {
	var out []string
	for _, word := range words {
		word = rowText(word)
		for i := range word {
			out = append(out, cut(word[i:], longest))
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Compare(a+"#", b+"#") })
	return slices.Compact(out)
}

// rowText replaces "#" in a folded text, so that "#" can end the text in a key.
// No folded text contains the full-width sign.
func rowText(folded string) string { return strings.ReplaceAll(folded, "#", "＃") }

// cut returns the first n characters.
func cut(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// shared returns the length of the common prefix of two texts, in characters. A
// suffix that begins with q is the customer's smallest such suffix if it shares
// fewer characters with the previous suffix than q has.
func shared(a, b string) int {
	n := 0
	for a != "" && b != "" {
		x, size := utf8.DecodeRuneInString(a)
		y, _ := utf8.DecodeRuneInString(b)
		if x != y {
			break
		}
		a, b, n = a[size:], b[size:], n+1
	}
	return n
}

// suffixPartition returns the partition of the rows with the first character of
// text.
func suffixPartition(t table.Tenant, text string) string { return t.Partition("SUFFIX", cut(text, 1)) }

func suffixKey(t table.Tenant, suffix, id string, n int) table.Key {
	return table.Key{PK: suffixPartition(t, suffix), SK: suffix + "#" + id + "#" + strconv.Itoa(n)}
}

// rowOwner returns the id of a suffix row's customer.
func rowOwner(row table.Item) string {
	_, rest, _ := strings.Cut(row.SK, "#")
	id, _, _ := strings.Cut(rest, "#")
	return id
}

// visible reports whether a walk that began at the given time sees the row: the
// row was valid then, or it is in the first set of a customer created later and
// that set has not ended.
func visible(row table.Item, began string) bool {
	until := row.Text("until")
	if row.Text("since") <= began {
		return until == "" || began < until
	}
	return row.Flag("first") && until == ""
}
