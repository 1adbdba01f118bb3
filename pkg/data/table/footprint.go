package table

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Footprint finds and removes the items of one tenant: the tenant's partitions;
// platform items (footprintKinds) whose key contains the tenant's id; and sessions,
// codes and one-time links whose document names the tenant. It is for the
// deletion of a tenant.
type Footprint struct {
	h     Handle
	id    string
	after map[string]types.AttributeValue
}

// footprintKinds are the kinds of platform data (DB.Platform) in which Footprint finds
// items of a tenant.
var footprintKinds = []string{"CODE", "SESSION", "LINK", "POST", "POSTS"}

// Footprint returns the tenant's footprint. Its Next starts at the beginning of
// the table.
func (t Tenant) Footprint() *Footprint {
	h := Join(t.Handle, t.db.Platform(footprintKinds...).Handle)
	h.scans = t.id
	return &Footprint{h: h, id: t.id}
}

// The filter and the projection of the Scan of a Footprint. The guard allows no other
// Scan.
const (
	footprintFilter = "contains(pk, :id) OR contains(sk, :id) OR " +
		"(contains(#doc, :member) AND #type IN (:code, :session, :link))"
	footprintShown = "pk, sk"
)

// footprintValues returns the values that footprintFilter needs for the tenant with the id.
func footprintValues(id string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{":id": str(id), ":member": str(`"tenant":"` + id + `"`), ":code": str("code"),
		":session": str("session"), ":link": str("link")}
}

// Next reads the next megabyte of the table, and returns the keys of those
// items that belong to the footprint. more is false at the end of the table.
//
// Access pattern: the table's only Scan. It reads every tenant's items, but the
// response has only the keys of items that contain this tenant's id.
func (f *Footprint) Next(ctx context.Context) (keys []Key, more bool, err error) {
	out, err := f.h.db.client.Scan(f.h.within(ctx), &dynamodb.ScanInput{TableName: &f.h.db.name,
		ConsistentRead: aws.Bool(true), ExclusiveStartKey: f.after, FilterExpression: aws.String(footprintFilter),
		ProjectionExpression: aws.String(footprintShown), ExpressionAttributeValues: footprintValues(f.id),
		ExpressionAttributeNames: map[string]string{"#doc": "doc", "#type": "type"}})
	if err != nil {
		return nil, false, readError("scan", err)
	}
	for _, it := range out.Items {
		// Callers choose parts of keys, such as an Idempotency-Key. A key of another
		// tenant may therefore contain this tenant's id.
		if key := (Key{PK: stringOf(it["pk"]), SK: stringOf(it["sk"])}); f.h.covers(key.PK) {
			keys = append(keys, key)
		}
	}
	f.after = out.LastEvaluatedKey
	return keys, len(f.after) > 0, nil
}

// Remove deletes items without conditions, 25 per request. If a key is neither
// the tenant's nor of a kind that Footprint reads, Remove returns an error and
// does not send the request with this key. It may have sent earlier requests.
func (f *Footprint) Remove(ctx context.Context, keys []Key) error {
	for some := range slices.Chunk(keys, loadSize) {
		writes := make([]types.WriteRequest, len(some))
		for i, key := range some {
			writes[i] = types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: key.encode()}}
		}
		if err := f.h.batchWrite(ctx, writes); err != nil {
			return err
		}
	}
	return nil
}

// scan returns an error unless the request is the Scan that the Footprint of the handle's
// tenant sends.
func (h Handle) scan(in *dynamodb.ScanInput) error {
	member, _ := in.ExpressionAttributeValues[":id"].(*types.AttributeValueMemberS)
	switch {
	case h.scans == "" || in.IndexName != nil:
		return fmt.Errorf("a scan is not allowed")
	case aws.ToString(in.FilterExpression) != footprintFilter || aws.ToString(in.ProjectionExpression) != footprintShown:
		return fmt.Errorf("a scan must have the filter and projection of a footprint")
	case member == nil || member.Value != h.scans:
		return fmt.Errorf("a scan must be for the tenant of its handle")
	}
	return nil
}
