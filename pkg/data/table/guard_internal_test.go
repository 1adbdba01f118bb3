package table

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TestGuardRefusesSeveralOperations: an item of a transaction, or a write of a
// batch, with a second operation beside a permitted one is rejected, whatever
// that operation is.
func TestGuardRefusesSeveralOperations(t *testing.T) {
	const name = "t"
	table := func() *string { s := name; return &s }
	key := map[string]types.AttributeValue{"pk": str("T#mine#A"), "sk": str("A")}
	foreign := map[string]types.AttributeValue{"pk": str("T#theirs#A"), "sk": str("A")}
	condition := "attribute_exists(pk)"
	h := (&DB{}).Tenant("mine").Handle
	put := func(key map[string]types.AttributeValue) *types.Put { return &types.Put{TableName: table(), Item: key} }
	remove := func(key map[string]types.AttributeValue) *types.Delete {
		return &types.Delete{TableName: table(), Key: key}
	}
	update := func(key map[string]types.AttributeValue) *types.Update {
		return &types.Update{TableName: table(), Key: key}
	}
	check := func(key map[string]types.AttributeValue) *types.ConditionCheck {
		return &types.ConditionCheck{TableName: table(), Key: key, ConditionExpression: &condition}
	}
	for what, op := range map[string]types.TransactWriteItem{
		"put and update": {Put: put(key), Update: update(foreign)},
		"put and delete": {Put: put(key), Delete: remove(foreign)},
		"put and check":  {Put: put(key), ConditionCheck: check(foreign)}, "update and delete": {Update: update(key),
			Delete: remove(foreign)},
		"update and check": {Update: update(key), ConditionCheck: check(foreign)}, "delete and check": {Delete: remove(key),
			ConditionCheck: check(foreign)},
		"two of our own": {Put: put(key), Delete: remove(key)}, "none": {},
		"a foreign put": {Put: put(foreign)}, "a foreign check": {ConditionCheck: check(foreign)},
	} {
		if h.allows(name, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{op}}) == nil {
			t.Errorf("%s: let through", what)
		}
	}
	for what, op := range map[string]types.TransactWriteItem{"put": {Put: put(key)}, "update": {Update: update(key)},
		"delete": {Delete: remove(key)}, "check": {ConditionCheck: check(key)}} {
		if err := h.allows(name,
			&dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{op}}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, w := range map[string]types.WriteRequest{"none": {},
		"put and delete": {PutRequest: &types.PutRequest{Item: key}, DeleteRequest: &types.DeleteRequest{Key: key}}} {
		in := &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{name: {w}}}
		if h.allows(name, in) == nil {
			t.Errorf("batch with %s: let through", what)
		}
	}
}

// TestGuardRefusesScans: only a footprint may scan, with its own filter, for its
// own tenant.
func TestGuardRefusesScans(t *testing.T) {
	name, filter, shown, index := "t", footprintFilter, footprintShown, "by-g1"
	h := (&DB{}).Tenant("mine").Handle
	scanner := h
	scanner.scans = "mine"
	good := func() *dynamodb.ScanInput {
		return &dynamodb.ScanInput{TableName: &name, FilterExpression: &filter, ProjectionExpression: &shown,
			ExpressionAttributeValues: footprintValues("mine")}
	}
	if err := scanner.allows(name, good()); err != nil {
		t.Error(err)
	}
	other := good()
	other.ExpressionAttributeValues = footprintValues("theirs")
	unfiltered, whole, indexed := good(), good(), good()
	unfiltered.FilterExpression, whole.ProjectionExpression, indexed.IndexName = nil, nil, &index
	for what, in := range map[string]*dynamodb.ScanInput{"another tenant": other, "no filter": unfiltered,
		"whole items": whole, "an index": indexed} {
		if scanner.allows(name, in) == nil {
			t.Errorf("%s: allowed", what)
		}
	}
	if h.allows(name, good()) == nil || scanner.allows("another", good()) == nil {
		t.Error("a scan without a footprint, or of another table, is allowed")
	}
}
