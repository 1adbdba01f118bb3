package erasure

import (
	"context"
	"slices"
	"strings"
	"time"

	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/fleet"
	members "svc/pkg/domain/person"
	"svc/pkg/domain/trip"
	"svc/pkg/edge/api"
)

const (
	// lately is how far back an erasure looks for actors who may have got a response
	// about the person. A stored response expires after a day, and DynamoDB deletes it
	// some days later.
	lately = 8 * 24 * time.Hour
	// actorsAtOnce is the maximum number of actors whose responses one call reads.
	actorsAtOnce = 50
	// afterAll sorts after every stored response of an actor.
	afterAll = "~"
)

// readAnswers reads the stored responses (idempotency records of pkg/edge/api) of other
// actors that mention the person. These actors are the company's operators and
// everybody who took part in the person's trips. The position after has the form
// <actor>#<range key>.
func readAnswers(ctx context.Context, p person, after string, limit int) (out table.Page, err error) {
	actors, about, err := p.others(ctx)
	if err != nil {
		return out, err
	}
	at, sk, _ := strings.Cut(after, "#")
	from, found := slices.BinarySearch(actors, at)
	if !found {
		sk = ""
	}
	for n, actor := range actors[from:] {
		page, err := p.t.Query(ctx, api.AnswersOf(p.t, actor), table.Query{After: sk, Limit: limit, Consistent: true})
		if err != nil {
			return out, err
		}
		sk = ""
		for _, it := range page.Items {
			body := it.Text("body")
			if !strings.HasPrefix(body, `{"id":"prv_`) && // a request about a person holds identifiers only
				slices.ContainsFunc(about, func(id string) bool { return strings.Contains(body, id) }) {
				out.Items = append(out.Items, it)
			}
		}
		if page.More {
			out.More, out.Last = true, actor+"#"+page.Last
			return out, nil
		}
		if n+1 == actorsAtOnce || len(out.Items) >= limit {
			out.More, out.Last = true, actor+"#"+afterAll
			return out, nil
		}
	}
	return out, nil
}

// others returns the actors, sorted, whose stored responses may mention the person, and
// the identifiers by which such a response is recognized.
func (p person) others(ctx context.Context) (actors, about []string, err error) {
	about = append([]string{p.id}, p.methods...)
	now, _ := timestamp.Parse(p.at) // always valid: this service wrote it
	since := timestamp.Format(now.Add(-lately))
	each := func(partition string, q table.Query, one func(table.Item) error) {
		if err != nil {
			return
		}
		q.Limit = 500
		for items, failed := range p.t.Pages(ctx, partition, q) {
			if err = failed; err != nil {
				return
			}
			for _, it := range items {
				if err = one(it); err != nil {
					return
				}
			}
		}
	}
	each(members.MembersPartition(p.t), table.Query{Index: 1}, func(it table.Item) error {
		actors = append(actors, it.R)
		return nil
	})
	each(p.t.Partition("AUDIT"), table.Query{From: since}, func(it table.Item) error {
		e, err := table.DecodeDoc[audit.Entry](it)
		if e.What == "member.remove" {
			actors = append(actors, e.Subject)
		}
		if strings.HasPrefix(e.Who, "svc") { // the platform's operator, who is no member
			actors = append(actors, e.Who)
		}
		return err
	})
	each(fleet.Key(p.t, p.id, "").PK, table.Query{}, func(it table.Item) error {
		about = append(about, strings.TrimPrefix(it.SK, "DOCUMENT#"))
		return nil
	})
	partition, index := p.trips()
	each(partition, table.Query{Index: index}, func(it table.Item) error {
		t, err := trip.FromItem(it)
		if err != nil || t.UpdatedAt < since {
			return err
		}
		about = append(about, t.ID)
		actors = append(actors, t.CustomerID)
		for _, e := range t.Log() {
			actors = append(actors, e.Actor.ID)
		}
		return nil
	})
	slices.Sort(actors)
	actors = slices.DeleteFunc(slices.Compact(actors), func(id string) bool {
		return id == p.id || strings.Contains(id, "#") || id == ""
	})
	return actors, about, err
}

// eraseAnswer replaces a stored response that mentions the person by an error.
func eraseAnswer(_ context.Context, _ person, tx *table.Tx, it table.Item) error {
	return api.ForgetAnswer(tx, it)
}
