package customer

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"svc/pkg/search"
	"svc/pkg/table"
	"svc/pkg/timestamp"
)

// A customer is found by the suffixes of a few texts, a row each: whatever
// contains q has a suffix that begins with q. Rows lie under their first
// character and are ordered by text, then customer.
//
// A set of rows is written once and never changed; another name gets another
// set, and says of the old one until when it held. So a walk through the pages
// sees the rows as they were when it began, and shows each customer once, at
// the smallest matching suffix, whatever is renamed meanwhile.

// longest is the length of a suffix row's text, in characters; of a longer q
// the rest is compared with the customer.
const longest = 64

// kept is how long a set of rows outlives its end, for walks that began before.
const kept = 24 * time.Hour

// Words are the texts that a customer is found by, folded; what another of them
// contains is left out, and so is what is empty. They are in order.
func (r Record) Words() []string {
	words := []string{r.Name, strings.TrimSpace(r.FirstName + " " + r.LastName), r.FirstName, r.LastName, r.Email}
	if r.Phone != nil {
		words = append(words, *r.Phone)
	}
	for i := range words {
		words[i] = search.Fold(words[i])
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

// RowSet is a set of suffix rows: the words it is of, and when it held.
type RowSet struct {
	Words []string `json:"words"`
	N     int      `json:"n"`               // 1 for a customer's first set
	Since string   `json:"since"`           // included
	Until string   `json:"until,omitempty"` // excluded; "" while it holds
}

// Rows are the set's items: of one that holds, and of one that has ended.
func (s RowSet) Rows(t table.Tenant, id string) []table.Item {
	suffixes := suffixesOf(s.Words)
	out := make([]table.Item, len(suffixes))
	for i, suffix := range suffixes {
		out[i] = table.Item{Key: suffixKey(t, suffix, id, s.N), Type: "suffix", Attrs: map[string]any{"since": s.Since, "first": s.N == 1}}
		if i > 0 {
			out[i].Attrs["shared"] = shared(suffixes[i-1], suffix)
		}
		if s.Until != "" {
			out[i].Attrs["until"] = s.Until
			if until, err := timestamp.Parse(s.Until); err == nil {
				out[i].Expires = until.Add(kept)
			}
		}
	}
	return out
}

// suffixesOf gives the distinct suffixes of the words, cut to the longest, in
// the order of their rows.
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

// rowText writes a folded text so that "#" can end it in a key. No folded text
// holds the full-width sign.
func rowText(folded string) string { return strings.ReplaceAll(folded, "#", "＃") }

// cut gives the first n characters.
func cut(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// shared is the number of characters that two texts have in common at the
// beginning. A suffix is the smallest of its customer's that begins with q
// when it shares fewer with the one before it than q has.
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

// suffixPartition holds the rows whose text begins as text does.
func suffixPartition(t table.Tenant, text string) string { return t.Partition("SUFFIX", cut(text, 1)) }

func suffixKey(t table.Tenant, suffix, id string, n int) table.Key {
	return table.Key{PK: suffixPartition(t, suffix), SK: suffix + "#" + id + "#" + strconv.Itoa(n)}
}

// rowOwner gives the customer of a suffix row.
func rowOwner(row table.Item) string {
	_, rest, _ := strings.Cut(row.SK, "#")
	id, _, _ := strings.Cut(rest, "#")
	return id
}

// visible says whether a walk that began at the given time sees the row: it
// held then, or it is of a customer who came after.
func visible(row table.Item, began string) bool {
	until := row.Text("until")
	if row.Text("since") <= began {
		return until == "" || began < until
	}
	return row.Flag("first") && until == ""
}
