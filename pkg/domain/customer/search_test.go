package customer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/background/projection"
	"svc/pkg/base/ids"
	"svc/pkg/base/plaintext"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
)

// hall is a tenant whose customers the tests search.
type hall struct {
	*apitest.Stand
	t        *testing.T
	tenant   table.Tenant
	operator string
	people   map[string]customer.Record
}

func newHall(t *testing.T) *hall {
	stand := apitest.New(t, testkit.Table(t), customer.Rows()...)
	h := &hall{Stand: stand, t: t, tenant: stand.Tenant("USD", 1), people: map[string]customer.Record{}}
	h.operator = stand.Token(h.tenant, authz.Dashboard, "usr_1", "VIEW_CUSTOMERS")
	return h
}

func person(first, last, email, phone string) customer.Record {
	r := customer.Record{Customer: customer.Customer{ID: ids.New(ids.Customer, apitest.Start), FirstName: first,
		LastName: last,
		Name:     strings.TrimSpace(first + " " + last), Email: email, CreatedAt: timestamp.Format(apitest.Start)}}
	if phone != "" {
		r.Phone = &phone
	}
	return r
}

// save writes a customer and updates the customer's suffix rows a moment later.
func (h *hall) save(people ...customer.Record) {
	h.t.Helper()
	h.Advance(time.Second)
	step := projection.Step{Now: h.Now}
	for chunk := range slices.Chunk(people, 50) {
		var keys []table.Key
		for _, p := range chunk {
			h.people[p.ID] = p
			keys = append(keys, customer.Key(h.tenant, p.ID))
			if err := h.tenant.Load(context.Background(), customer.Item(h.tenant, p, 1)); err != nil {
				h.t.Fatal(err)
			}
		}
		if _, err := step.Tenant(context.Background(), h.tenant, keys); err != nil {
			h.t.Fatal(err)
		}
	}
	h.Advance(time.Second)
}

type found struct {
	Items []customer.Customer `json:"items"`
	Next  *string             `json:"next_cursor"`
}

// walk reads all pages and returns the ids in the order shown. It calls the
// function between after each page except the last.
func (h *hall) walk(q string, limit int, between func()) (shown []string) {
	h.t.Helper()
	query := url.Values{"q": {q}, "limit": {fmt.Sprint(limit)}}
	for {
		var p found
		h.Want(200, &p, "GET", "/api/v1/customers?"+query.Encode(), h.operator, "")
		if len(p.Items) > limit {
			h.t.Errorf("a page of %d", len(p.Items))
		}
		for _, c := range p.Items {
			shown = append(shown, c.ID)
		}
		if p.Next == nil {
			return shown
		}
		query.Set("cursor", *p.Next)
		if between != nil {
			between()
		}
	}
}

// brute searches by reading every customer: each word of q must be a part of one
// of the customer's texts.
func (h *hall) brute(q string) []string {
	digits := func(s string) string {
		return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < '0' || r > '9' }), "")
	}
	if q = strings.TrimSpace(q); len(digits(q)) >= 4 && strings.Trim(q, " +-().0123456789") == "" {
		q = digits(q)
	}
	var out []string
	for id, p := range h.people {
		phone := ""
		if p.Phone != nil {
			phone = *p.Phone
		}
		missing := slices.ContainsFunc(strings.Fields(plaintext.Fold(q)), func(word string) bool {
			return !slices.ContainsFunc([]string{p.Name, p.FirstName, p.LastName, p.Email, phone, digits(phone)},
				func(text string) bool { return strings.Contains(plaintext.Fold(text), word) })
		})
		if !missing {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

func sorted(ids []string) []string {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return ids
}

func TestSearchFinds(t *testing.T) {
	h := newHall(t)
	h.save(person("Anna", "Banana", "anna@x.example", "+1 555 0100"), person("Zoë", "Weiß", "zoe@y.example", ""),
		person("Ёлка", "ЖУК", "elka@z.example", "+7 (495) 123-45-67"), person("王", "小明", "wang@x.example", ""),
		person("Πέτρος", "ΟΔΥΣΣΕΥΣ", "petros@g.example", ""), person("Jo", "O'Neil #2", "jo+a%_b@x.example", ""),
		person("İpek", "ＦＵＬＬ", "ipek@t.example", ""), person("A", "", "a@b.example", "0"),
		person("محمد", "علي", "m@a.example", ""),
		person(strings.Repeat("ab", 45), strings.Repeat("c", 90)+"d", "long@x.example", ""))
	longName := strings.Repeat("ab", 45) + " " + strings.Repeat("c", 90) + "d"
	for _, q := range []string{"a", "A", "an", "ANA", "anna b", "a b", "banana", "x.example", ".EXAMPLE", "@", "555",
		"+1 555", "0", "ß", "SS", "weiss",
		"zoë", "ZOE\u0308", "zoe", "ё", "Ж", "жук", "小", "王 小", "σ", "ς", "ὀδυσσεύς", "οδυσσευς", "#", "#2", "'", "%", "_",
		"+a%", "full", "Full", "i̇p", "محمد", "م",
		" ", "  ", "nobody", "\"", "b@", longName[:99], longName[60:160], strings.Repeat("c", 65), strings.Repeat("c", 64),
		strings.Repeat("c", 91), "(495) 123",
		strings.Repeat("b", 70), strings.ToUpper(longName[20:90])} {
		for _, limit := range []int{1, 3, 200} {
			if diff := cmp.Diff(h.brute(q), sorted(h.walk(q, limit, nil))); diff != "" {
				t.Errorf("%q, limit %d: %s", q, limit, diff)
			}
		}
	}
}

func TestSearchAgainstBruteForce(t *testing.T) {
	testkit.LongHere(t)
	h := newHall(t)
	rnd := rand.New(rand.NewPCG(1, 1))
	pieces := []string{"a", "A", "an", "na", " ", "ß", "s", "S", "é", "e", "Ж", "ж", "王", "#", "ab", "b"}
	word := func(n int) (out string) {
		for range 1 + rnd.IntN(n) {
			out += pieces[rnd.IntN(len(pieces))]
		}
		return strings.TrimSpace(out)
	}
	var people []customer.Record
	for i := range 120 {
		people = append(people, person(word(6), word(6), fmt.Sprintf("%s%d@b.example", "an"[:1+i%2], i), ""))
	}
	h.save(people...)
	queries := 150
	if testkit.OnDynamoDBLocal() { // where a search takes five times as long
		queries = 40
	}
	for range queries {
		q := word(4)
		if q == "" {
			continue
		}
		if diff := cmp.Diff(h.brute(q), sorted(h.walk(q, []int{1, 5, 50}[rnd.IntN(3)], nil))); diff != "" {
			t.Errorf("%q: %s", q, diff)
		}
	}
}

func TestSearchAfterARename(t *testing.T) {
	h := newHall(t)
	p := person("Anna", "Schmidt", "anna@x.example", "")
	h.save(p)
	p.FirstName, p.LastName, p.Name = "Berta", "Vogel", "Berta Vogel"
	h.save(p)
	for q, want := range map[string]int{"schmidt": 0, "vogel": 1, "berta": 1, "anna": 1, "anna s": 0, "x.example": 1} {
		if got := h.walk(q, 50, nil); len(got) != want {
			t.Errorf("%q finds %v", q, got)
		}
	}
	p.FirstName, p.LastName, p.Name = "Anna", "Schmidt", "Anna Schmidt"
	h.save(p)
	for q, want := range map[string]int{"schmidt": 1, "vogel": 0} {
		if got := h.walk(q, 50, nil); len(got) != want {
			t.Errorf("back again, %q finds %v", q, got)
		}
	}
}

// A walk shows no customer twice and misses no customer who matches the whole
// time, even if customers are added and renamed between the pages.
func TestSearchWhileCustomersAreAddedAndRenamed(t *testing.T) {
	testkit.LongHere(t)
	for _, limit := range []int{1, 4, 20} {
		t.Run(fmt.Sprint("limit ", limit), func(t *testing.T) {
			t.Parallel()
			h, rnd := newHall(t), rand.New(rand.NewPCG(uint64(limit), 1))
			var people []customer.Record
			for i := range 40 {
				first, last := anyName(rnd)
				people = append(people, person(first, last, fmt.Sprintf("c%d@x.example", i), ""))
			}
			h.save(people...)
			for _, q := range []string{"a", "an", "ann", "example", "anna 1"} {
				h.walkWhileChanging(q, limit, people, rnd)
			}
		})
	}
}

func anyName(rnd *rand.Rand) (first, last string) {
	return []string{"Anna", "Zanna", "Hannah Anna", "Joanna"}[rnd.IntN(4)], fmt.Sprint(10 + rnd.IntN(90))
}

// walkWhileChanging walks through a search. Between pages it adds a customer
// and renames some of the people.
func (h *hall) walkWhileChanging(q string, limit int, people []customer.Record, rnd *rand.Rand) {
	h.t.Helper()
	always := map[string]bool{}
	for _, id := range h.brute(q) {
		always[id] = true
	}
	added := 0
	shown := h.walk(q, limit, func() {
		if added++; added > 8 {
			return
		}
		first, last := anyName(rnd)
		h.save(person(first, last, fmt.Sprintf("n%d@x.example", added), ""))
		for range 3 {
			p := people[rnd.IntN(len(people))]
			p.FirstName, p.LastName = anyName(rnd)
			p.Name = p.FirstName + " " + p.LastName
			h.save(p)
		}
		p := people[rnd.IntN(len(people))]
		p.FirstName, p.LastName, p.Name = "Otto", "", "Otto"
		h.save(p)
		now := h.brute(q)
		for id := range always {
			if !slices.Contains(now, id) {
				delete(always, id)
			}
		}
	})
	seen := map[string]int{}
	for _, id := range shown {
		if seen[id]++; seen[id] == 2 {
			h.t.Errorf("%q, limit %d: %s is shown twice", q, limit, h.people[id].Name)
		}
	}
	for id := range always {
		if seen[id] == 0 {
			h.t.Errorf("%q, limit %d: %s is missed", q, limit, h.people[id].Name)
		}
	}
}

func TestSearchRefuses(t *testing.T) {
	h := newHall(t)
	h.save(person("Anna", "One", "a@x.example", ""), person("Anna", "Two", "b@x.example", ""))
	var p found
	h.Want(200, &p, "GET", "/api/v1/customers?q=anna&limit=1", h.operator, "")
	if p.Next == nil {
		t.Fatal("one page holds all")
	}
	for name, query := range map[string]url.Values{
		"another q":        {"q": {"ann"}, "cursor": {*p.Next}},
		"the list's":       {"cursor": {*p.Next}},
		"mangled":          {"q": {"anna"}, "cursor": {(*p.Next)[1:]}},
		"no cursor at all": {"q": {"anna"}, "cursor": {"abc"}},
		"too long":         {"q": {strings.Repeat("a", 101)}},
	} {
		if a := h.Do("GET", "/api/v1/customers?"+query.Encode(), h.operator, ""); a.Status != 400 {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	if a := h.Do("GET", "/api/v1/customers?"+url.Values{"q": {"ANNA"}, "cursor": {*p.Next}}.Encode(), h.operator,
		""); a.Status != 200 {
		t.Errorf("the same q in capitals: %d", a.Status)
	}
}

// A search finds a phone by its digits, whatever the separators. It ignores
// blanks at the ends of q. Results are ordered by the text from the match on.
func TestSearchByPhone(t *testing.T) {
	h := newHall(t)
	anna, ann := person("Anna", "B", "a@x.example", "+1 (212) 555-0181"), person("Ann", "C", "c@x.example", "2125550182")
	h.save(anna, ann, person("Joanne", "D", "d@x.example", ""))
	for q, want := range map[string][]string{
		"5550181": {"Anna"}, "555-0181": {"Anna"}, "+12125550181": {"Anna"}, "212.555.0181": {"Anna"},
		"  anna ": {"Anna"}, "(212) 555": {"Anna", "Ann"}, "212555018": {"Anna", "Ann"}, "+1 (212": {"Anna"},
		"99 99": {}, "ann": {"Ann", "Anna", "Joanne"}, "  ": {"Joanne", "Ann", "Anna"},
	} {
		var got found
		h.Want(200, &got, "GET", "/api/v1/customers?"+url.Values{"q": {q}}.Encode(), h.operator, "")
		names := []string{}
		for _, c := range got.Items {
			names = append(names, c.FirstName)
		}
		if q == "  " { // the list of all customers, in any order: all were created at the same time
			slices.Sort(names)
			want = slices.Sorted(slices.Values(want))
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%q (-want +got):\n%s", q, diff)
		}
	}
}
