package erasure

import (
	"context"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
)

// readOlderSessions reads the person's sessions that are in no index, because a build
// before version 1.1.0 stored them. Each access token that was issued in such a session
// leads to it.
//
// Access pattern: by-g1 T#t#TOKENS#shard of the last hours, shards merged; two batches for
// each page.
func readOlderSessions(ctx context.Context, p person, after string, limit int) (out table.Page, err error) {
	shards, err := tenant.ReadShards(ctx, p.t)
	if err != nil {
		return out, err
	}
	partitions := make([]string, shards)
	for n := range partitions {
		partitions[n] = authz.TokensOf(p.t, n)
	}
	at, _ := timestamp.Parse(p.at) // always valid: this service wrote it
	page, err := p.t.Merge(ctx, partitions, table.Query{Index: 1, After: after, Limit: limit,
		From: timestamp.Format(at.Add(-login.SessionLife).Truncate(time.Second))})
	if err != nil {
		return out, err
	}
	var families []table.Key
	known := map[table.Key]bool{}
	for _, token := range page.Items {
		if key := authz.FamilyKey(p.t, token.Text("family")); token.Text("actor") == p.id && !known[key] {
			families, known[key] = append(families, key), true
		}
	}
	stored, err := p.t.BatchAll(ctx, families...)
	if err != nil {
		return out, err
	}
	sessions := p.db.Platform("SESSION")
	var keys []table.Key
	for _, it := range stored {
		var family struct {
			Session string `json:"session"`
		}
		if !it.Found() || it.Decode(&family) != nil || family.Session == "" {
			continue
		}
		if key := login.SessionKey(sessions, family.Session); !known[key] {
			keys, known[key] = append(keys, key), true
		}
	}
	found, err := sessions.BatchAll(ctx, keys...)
	for _, it := range found {
		var session struct {
			Actor string `json:"actor"`
		}
		if it.Found() && it.Decode(&session) == nil && session.Actor == p.id {
			out.Items = append(out.Items, it)
		}
	}
	out.More, out.Last = page.More, page.Last
	return out, err
}
