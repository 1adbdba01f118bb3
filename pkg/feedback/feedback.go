package feedback

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/search"
	"svc/pkg/timestamp"
)

// Status is where a post stands on the roadmap.
type Status string

// The statuses.
const (
	UnderReview Status = "UNDER_REVIEW"
	Planned     Status = "PLANNED"
	InProgress  Status = "IN_PROGRESS"
	Completed   Status = "COMPLETED"
	Rejected    Status = "REJECTED"
)

// Statuses lists them; the first three are the roadmap-ready ones.
var Statuses = []Status{UnderReview, Planned, InProgress, Completed, Rejected}

// Ready lists the roadmap-ready statuses.
var Ready = Statuses[:3]

// Open says whether a post in the status takes votes and comments.
func (s Status) Open() bool { return slices.Contains(Ready, s) }

// The types of posts.
const (
	Idea = "IDEA"
	Bug  = "BUG"
)

// Post is what is kept of a post but its texts.
type Post struct {
	ID        string
	Slug      string
	Type      string // Idea or Bug
	Status    Status
	Category  string // "" for none
	Title     string
	TitleEn   string // "" for none
	Votes     int64
	Comments  int64
	CreatedAt string
	UpdatedAt string // of its status
	Author    string // a person's id; never shown
	Tenant    string // the author's tenant; never shown
	Version   int64
}

// Texts are the long texts of a post.
type Texts struct {
	Body   string     `json:"body"`
	BodyEn *string    `json:"bodyEn,omitempty"`
	Bug    *BugReport `json:"bug,omitempty"`
}

// BugReport is what an author tells of a bug; only what was told is there.
type BugReport struct {
	AppVersion       string `json:"appVersion,omitempty" maxLength:"100" example:"4.2.0"`
	AppBuild         string `json:"appBuild,omitempty" maxLength:"100" example:"4211"`
	Platform         string `json:"platform,omitempty" enum:"WEB,ANDROID,IOS,DESKTOP"`
	StepsToReproduce string `json:"stepsToReproduce,omitempty" maxLength:"10000"`
	ExpectedBehavior string `json:"expectedBehavior,omitempty" maxLength:"10000"`
	ActualBehavior   string `json:"actualBehavior,omitempty" maxLength:"10000"`
	DeviceInfo       string `json:"deviceInfo,omitempty" maxLength:"10000"`
}

// Draft is a post as its author submits it (specification, "POST
// /api/v1/feedback").
type Draft struct {
	Title    string     `json:"title" maxLength:"200" pattern:"\\S" example:"Dark theme for the dispatch map" doc:"In the author's language."`
	Body     string     `json:"body" maxLength:"10000" pattern:"\\S" example:"Our dispatchers work at night and the map is too bright." doc:"In the author's language."`
	Type     string     `json:"type,omitempty" enum:"IDEA,BUG" default:"IDEA"`
	TitleEn  *string    `json:"titleEn,omitempty" maxLength:"200" doc:"The title in English."`
	BodyEn   *string    `json:"bodyEn,omitempty" maxLength:"10000" doc:"The body in English."`
	Category *string    `json:"category,omitempty" maxLength:"100" example:"dispatch" doc:"A word to find it by."`
	Bug      *BugReport `json:"bug,omitempty" doc:"With a bug: the details that are known."`
}

// longestFolded is the length of a folded body at most, in bytes: both fit into
// the one row that search reads. Ordinary texts of 10,000 characters stay far
// below; there are characters that fold to eighteen.
const longestFolded = 60_000

// New makes the post of a draft, under review, with its author's vote counted.
// Errors: a 400 with every fault.
func (d Draft) New(author, tenant string, now time.Time) (Post, Texts, error) {
	var faults []fault.Detail
	need := func(field, text string) {
		if strings.TrimSpace(text) == "" {
			faults = append(faults, fault.Detail{Field: "body." + field, Message: "expected a text"})
		}
	}
	need("title", d.Title)
	need("body", d.Body)
	for _, text := range []struct{ field, text string }{{"body", d.Body}, {"bodyEn", value(d.BodyEn)}} {
		if len(search.Fold(text.text)) > longestFolded {
			faults = append(faults, fault.Detail{Field: "body." + text.field, Message: "too long to be searched: some of its characters stand for many"})
		}
	}
	if d.Type == "" {
		d.Type = Idea
	}
	if d.Bug != nil && d.Type != Bug {
		faults = append(faults, fault.Detail{Field: "body.bug", Message: "only a post of type BUG has one"})
	}
	if len(faults) > 0 {
		return Post{}, Texts{}, fault.Invalid(faults...)
	}
	at := timestamp.Format(now)
	p := Post{ID: ids.New(ids.Post, now), Type: d.Type, Status: UnderReview, Category: strings.TrimSpace(value(d.Category)),
		Title: strings.TrimSpace(d.Title), TitleEn: strings.TrimSpace(value(d.TitleEn)), Votes: 1,
		CreatedAt: at, UpdatedAt: at, Author: author, Tenant: tenant, Version: 1}
	p.Slug = SlugOf(p)
	t := Texts{Body: d.Body, BodyEn: d.BodyEn, Bug: d.Bug}
	if t.Bug != nil && *t.Bug == (BugReport{}) {
		t.Bug = nil
	}
	return p, t, nil
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// slugLength is the length of a slug at most, before what makes it unique.
const slugLength = 60

// SlugOf makes a slug of the post's English title, else of its title, else of
// chance. It need not be unique yet.
func SlugOf(p Post) string {
	for _, title := range []string{p.TitleEn, p.Title} {
		if s := slug(title); s != "" {
			return s
		}
	}
	return "post-" + strings.ToLower(ids.Code())
}

// slug writes a title in small letters, digits and single hyphens; marks are
// dropped, and so is every other script: then it may be "".
func slug(title string) string {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFKD.String(search.Fold(title)) {
		switch {
		case (r >= 'a' && r <= 'z') || (r >= '0' && r <= '9'):
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
		case !unicode.Is(unicode.Mn, r):
			gap = true
		}
		if b.Len() >= slugLength {
			break
		}
	}
	return b.String()
}

// isSlug says whether text could be a slug: what is looked up.
func isSlug(text string) bool {
	if text == "" || len(text) > slugLength+10 {
		return false
	}
	for _, r := range text {
		if r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			return false
		}
	}
	return true
}

// Remark is a comment as it is sent.
type Remark struct {
	Body string `json:"body" maxLength:"10000" pattern:"\\S" example:"We would use this every night."`
}

// check refuses a comment without a text.
func (r Remark) check() error {
	if strings.TrimSpace(r.Body) == "" || !utf8.ValidString(r.Body) {
		return fault.Field("body.body", "expected a text")
	}
	return nil
}

// takes refuses a change on a post that is no longer open: a 409.
func (p Post) takes(what string) error {
	if !p.Status.Open() {
		return fault.InvalidState("A post that is %s takes no %s.", p.Status, what)
	}
	return nil
}

// Parse reads a status, as a person writes it.
func Parse(text string) (Status, error) {
	s := Status(strings.ToUpper(strings.TrimSpace(text)))
	if !slices.Contains(Statuses, s) {
		return "", fault.Field("status", "expected UNDER_REVIEW, PLANNED, IN_PROGRESS, COMPLETED or REJECTED")
	}
	return s, nil
}
