package feedback

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"svc/pkg/base/codec"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/plaintext"
	"svc/pkg/base/timestamp"
)

// Status is the state of a post on the roadmap.
type Status string

// The statuses of a post.
const (
	UnderReview Status = "UNDER_REVIEW"
	Planned     Status = "PLANNED"
	InProgress  Status = "IN_PROGRESS"
	Completed   Status = "COMPLETED"
	Rejected    Status = "REJECTED"
)

// Statuses lists all statuses. The first three must be those of Ready.
var Statuses = []Status{UnderReview, Planned, InProgress, Completed, Rejected}

// Ready lists the statuses of posts that are neither completed nor rejected. A list without
// a status filter shows the posts in these statuses.
var Ready = Statuses[:3]

// Open reports whether a post in the status accepts votes and comments.
func (s Status) Open() bool { return slices.Contains(Ready, s) }

// The types of posts.
const (
	Idea = "IDEA"
	Bug  = "BUG"
)

// Post is the stored data of a post without its long texts (Texts).
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
	UpdatedAt string // time of the last status change
	Author    string // a person's id; never shown
	Tenant    string // the author's tenant; never shown
	TextAt    string // range key of its search row; "" means the id
	Version   int64
}

// Texts are the long texts of a post. They are an item of their own, beside the Post.
type Texts struct {
	Body   string     `json:"body"`
	BodyEn *string    `json:"bodyEn,omitempty"`
	Bug    *BugReport `json:"bug,omitempty"`
}

// BugReport holds the details of a bug. Only the details that the author gave
// are present.
type BugReport struct {
	AppVersion       string `json:"appVersion,omitempty" maxLength:"100" example:"4.2.0" doc:"Version of the app."`
	AppBuild         string `json:"appBuild,omitempty" maxLength:"100" example:"4211" doc:"Build of the app."`
	Platform         string `json:"platform,omitempty" enum:"WEB,ANDROID,IOS,DESKTOP" doc:"Where the app runs."`
	StepsToReproduce string `json:"stepsToReproduce,omitempty" maxLength:"10000" doc:"What to do to see the bug."`
	ExpectedBehavior string `json:"expectedBehavior,omitempty" maxLength:"10000" doc:"What should happen."`
	ActualBehavior   string `json:"actualBehavior,omitempty" maxLength:"10000" doc:"What happens instead."`
	DeviceInfo       string `json:"deviceInfo,omitempty" maxLength:"10000" doc:"Device and operating system."`
}

// Draft is a post as its author submits it (specification, "POST
// /api/v1/feedback").
type Draft struct {
	Title    string     `json:"title" maxLength:"200" pattern:"\\S" example:"Dark theme for the dispatch map" doc:"The title, in the author's language."`
	Body     string     `json:"body" maxLength:"10000" pattern:"\\S" example:"Our dispatchers work at night and the map is too bright." doc:"The text, in the author's language."`
	Type     string     `json:"type,omitempty" enum:"IDEA,BUG" doc:"An idea, or a bug. Without this field, a post with bug is a BUG, and any other an IDEA."`
	TitleEn  *string    `json:"titleEn,omitempty" maxLength:"200" doc:"The title in English."`
	BodyEn   *string    `json:"bodyEn,omitempty" maxLength:"10000" doc:"The body in English."`
	Category *string    `json:"category,omitempty" maxLength:"100" example:"dispatch" doc:"The post's category, in the author's words. A list can be filtered by it."`
	Bug      *BugReport `json:"bug,omitempty" doc:"What the author knows about the bug. Not with type IDEA."`
}

// longestFolded is the maximum length of a folded body (plaintext.Fold), in bytes. It
// allows 10,000 characters of any script, unless they fold to several characters each.
// Some characters fold to eighteen.
const longestFolded = 40_000

// stripped returns the draft without invisible characters. People and agents of
// other companies read a post, and must see all of it.
func (d Draft) stripped() Draft {
	d.Title, d.Body = plaintext.Strip(d.Title), plaintext.Strip(d.Body)
	for _, text := range []**string{&d.TitleEn, &d.BodyEn, &d.Category} {
		if *text != nil {
			visible := plaintext.Strip(**text)
			*text = &visible
		}
	}
	if d.Bug != nil {
		bug := *d.Bug
		for _, text := range []*string{&bug.AppVersion, &bug.AppBuild, &bug.StepsToReproduce, &bug.ExpectedBehavior,
			&bug.ActualBehavior, &bug.DeviceInfo} {
			*text = plaintext.Strip(*text)
		}
		d.Bug = &bug
	}
	return d
}

// New converts a draft to a new post, with the status UnderReview and one vote, the
// author's. author is a person's id, tenant the id of the author's tenant. Errors: a 400
// with every fault.
func (d Draft) New(author, tenant string, now time.Time) (Post, Texts, error) {
	d = d.stripped()
	var wrong fault.Faults
	wrong.Unless(!plaintext.IsBlank(d.Title), "body.title", "expected a text")
	wrong.Unless(!plaintext.IsBlank(d.Body), "body.body", "expected a text")
	for _, text := range []struct{ field, text string }{{"body.body", d.Body}, {"body.bodyEn", codec.OrZero(d.BodyEn)}} {
		wrong.Unless(len(plaintext.Fold(text.text)) <= longestFolded, text.field,
			"too long to be searched: some of its characters stand for many")
	}
	if d.Type == "" && d.Bug != nil {
		d.Type = Bug
	}
	d.Type = cmp.Or(d.Type, Idea)
	wrong.Unless(d.Bug == nil || d.Type == Bug, "body.bug", "not with type IDEA")
	if err := wrong.Err(); err != nil {
		return Post{}, Texts{}, err
	}
	at := timestamp.Format(now)
	p := Post{ID: ids.New(ids.Post, now), Type: d.Type, Status: UnderReview,
		Category: strings.TrimSpace(codec.OrZero(d.Category)),
		Title:    strings.TrimSpace(d.Title), TitleEn: strings.TrimSpace(codec.OrZero(d.TitleEn)), Votes: 1,
		CreatedAt: at, UpdatedAt: at, Author: author, Tenant: tenant, Version: 1}
	p.Slug = SlugOf(p)
	t := Texts{Body: d.Body, BodyEn: d.BodyEn, Bug: d.Bug}
	if t.Bug != nil && *t.Bug == (BugReport{}) {
		t.Bug = nil
	}
	return p, t, nil
}

// slugLength is the length at which slug cuts a title. The result may be one
// character longer, if a hyphen precedes the last character. A suffix that makes
// the slug unique may follow.
const slugLength = 60

// SlugOf returns a slug for the post: from its English title, else from its title, else a
// random one. Another post may have the same slug.
func SlugOf(p Post) string {
	for _, title := range []string{p.TitleEn, p.Title} {
		if s := slug(title); s != "" {
			return s
		}
	}
	return "post-" + strings.ToLower(ids.Code())
}

// slug converts a title to lower-case letters, digits and single hyphens. Letters
// with accents and strokes become plain ones, as in a search. It drops letters of
// scripts other than Latin, so the result may be "".
func slug(title string) string {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFKD.String(plaintext.Fold(title)) {
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

// isSlug reports whether text has the form of a slug in any letter case. Only such a text
// is looked up (Store.resolve).
func isSlug(text string) bool {
	if text == "" || len(text) > slugLength+10 {
		return false
	}
	for _, r := range text {
		if r != '-' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') {
			return false
		}
	}
	return true
}

// Remark is the request body of a comment.
type Remark struct {
	Body string `json:"body" maxLength:"10000" pattern:"\\S" example:"We would use this every night." doc:"The text of the comment."`
}

// check rejects a comment whose text is blank or not valid UTF-8.
func (r Remark) check() error {
	if plaintext.IsBlank(r.Body) || !utf8.ValidString(r.Body) {
		return fault.Field("body.body", "expected a text")
	}
	return nil
}

// takes returns a 409 if the post's status does not accept votes and comments. what is
// "votes" or "comments", for the message.
func (p Post) takes(what string) error {
	if !p.Status.Open() {
		return fault.InvalidState("A post that is %s accepts no %s.", p.Status, what)
	}
	return nil
}

// Parse parses a status in any letter case, with blanks around it. Errors: a
// 400 for an unknown status.
func Parse(text string) (Status, error) {
	s := Status(strings.ToUpper(strings.TrimSpace(text)))
	if !slices.Contains(Statuses, s) {
		return "", fault.Field("status", "expected UNDER_REVIEW, PLANNED, IN_PROGRESS, COMPLETED or REJECTED")
	}
	return s, nil
}
