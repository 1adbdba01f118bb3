package feedback

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

func TestSlug(t *testing.T) {
	for title, want := range map[string]string{
		"Dark theme for the dispatch map": "dark-theme-for-the-dispatch-map",
		"  GPS:  50% wrong!! ":            "gps-50-wrong",
		"Straße über Höhe":                "strasse-uber-hohe",
		"Ｆｕｌｌ ｗｉｄｔｈ":                      "full-width",
		"Ночной режим":                    "",
		"":                                "",
		strings.Repeat("a", 70):           strings.Repeat("a", 60),
	} {
		got := slug(title)
		if got != want {
			t.Errorf("%q: got %q, want %q", title, got, want)
		}
		if got != "" && !isSlug(got) {
			t.Errorf("%q does not count as a slug", got)
		}
	}
	for _, text := range []string{"", "pst_01JT7M4C6Q8V2N5X9B3D1F7H0K", "a#b", "Ä", strings.Repeat("a", 80)} {
		if isSlug(text) {
			t.Errorf("%q counts as a slug", text)
		}
	}
}

func TestNewPost(t *testing.T) {
	p, texts, err := Draft{Title: " Mapa escuro ", Body: "À noite", TitleEn: ptr("Dark map"), BodyEn: ptr("At night"),
		Category: ptr("dispatch"), Type: Bug, Bug: &BugReport{Platform: "WEB"}}.New("usr_a", "ten_a", now)
	if err != nil {
		t.Fatal(err)
	}
	want := Post{ID: p.ID, Slug: "dark-map", Type: Bug, Status: UnderReview, Category: "dispatch", Title: "Mapa escuro",
		TitleEn: "Dark map", Votes: 1,
		CreatedAt: "2026-03-01T12:00:00.000Z", UpdatedAt: "2026-03-01T12:00:00.000Z", Author: "usr_a", Tenant: "ten_a",
		Version: 1}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Texts{Body: "À noite", BodyEn: ptr("At night"), Bug: &BugReport{Platform: "WEB"}},
		texts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p, texts, err = Draft{Title: "Ночной режим", Body: "b", Type: Bug, Bug: &BugReport{}}.New("usr_a", "ten_a", now)
	if err != nil || !strings.HasPrefix(p.Slug, "post-") || !isSlug(p.Slug) || texts.Bug != nil {
		t.Errorf("got slug %q, bug %v, %v", p.Slug, texts.Bug, err)
	}
}

// A post and a bug's details hide nothing from other companies' agents. A text that
// is blank without its invisible characters is refused.
func TestNewPostHidesNothing(t *testing.T) {
	const hidden = "\ufe00\U000e0041\u2800"
	p, texts, err := Draft{Title: "Dark" + hidden, Body: "b\n" + hidden, TitleEn: ptr(hidden), BodyEn: ptr("n" + hidden),
		Category: ptr("c" + hidden), Type: Bug, Bug: &BugReport{Platform: "WEB", AppVersion: hidden, AppBuild: hidden,
			StepsToReproduce: hidden, ExpectedBehavior: hidden, ActualBehavior: "x" + hidden,
			DeviceInfo: hidden}}.New("usr_a", "ten_a", now)
	if err != nil {
		t.Fatal(err)
	}
	if p.Title+"|"+p.TitleEn+"|"+p.Category != "Dark||c" {
		t.Errorf("the post is %+v", p)
	}
	if diff := cmp.Diff(Texts{Body: "b\n", BodyEn: ptr("n"), Bug: &BugReport{Platform: "WEB", ActualBehavior: "x"}},
		texts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, _, err := (Draft{Title: hidden, Body: "b"}).New("usr_a", "ten_a", now); err == nil {
		t.Error("a title that shows nothing is taken")
	}
}

func TestNewPostRefuses(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   Draft
		want []string
	}{
		{"nothing", Draft{}, []string{"body.title", "body.body"}},
		{"blanks", Draft{Title: " ", Body: "\n\t"}, []string{"body.title", "body.body"}},
		{"texts that fold to many times their length", Draft{Title: "a", Body: strings.Repeat("\uFDFA", 10000),
			BodyEn: ptr(strings.Repeat("\uFDFA", 10000))}, []string{"body.body", "body.bodyEn"}},
		{"a bug's details with an idea", Draft{Title: "a", Body: "b", Type: Idea, Bug: &BugReport{}}, []string{"body.bug"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := tc.in.New("usr_a", "ten_a", now)
			var f *fault.Error
			if !errors.As(err, &f) || f.Status() != http.StatusBadRequest {
				t.Fatalf("got %v", err)
			}
			var got []string
			for _, d := range f.Details {
				got = append(got, d.Field)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRowsOrder(t *testing.T) {
	a := Post{ID: ids.New(ids.Post, now), Type: Idea, Status: Planned, Votes: 9, Comments: 10,
		CreatedAt: "2026-03-01T12:00:00.000Z"}
	b := Post{ID: ids.New(ids.Post, now), Type: Idea, Status: Planned, Votes: 10, Comments: 10,
		CreatedAt: "2026-03-02T12:00:00.000Z"}
	for i, by := range sorts {
		low, high := a.rows()[2*i], b.rows()[2*i] // the row after each of them is that of the post's type
		if low.PK != rankPartition(by, Planned, "", "") || low.SK >= high.SK {
			t.Errorf("%s: %v is not before %v", by, low.Key, high.Key)
		}
	}
}

// A category may contain any character, and its list contains only its own
// posts.
func TestPartitionsDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, kind := range []string{"", Idea, Bug} {
		for _, category := range []string{"", "a", "IDEA", "#", "IDEA#a", "#a", "#IDEA#a"} {
			partition := rankPartition(ByVotes, Planned, kind, category)
			if other, taken := seen[partition]; taken {
				t.Errorf("%q: both %q and %q/%q", partition, other, kind, category)
			}
			seen[partition] = kind + "/" + category
		}
	}
}

func TestParseStatus(t *testing.T) {
	if s, err := Parse(" planned "); err != nil || s != Planned {
		t.Errorf("got %v, %v", s, err)
	}
	if _, err := Parse("DONE"); !errors.Is(err, fault.Invalid()) {
		t.Errorf("got %v", err)
	}
}
