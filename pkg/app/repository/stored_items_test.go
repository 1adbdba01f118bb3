package repository_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"svc/internal/test/testkit"
	"svc/pkg/data/table"
	"svc/pkg/domain/address"
	"svc/pkg/domain/branding"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/delivery"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/export"
	"svc/pkg/domain/fleet"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/payment"
	"svc/pkg/domain/person"
	"svc/pkg/domain/privacy"
	"svc/pkg/domain/sandbox"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
	"svc/pkg/domain/webhook"
	tables "svc/pkg/local/schema"
)

// rewritten returns the item that stores the value of an item.
type rewritten func(t table.Tenant, it table.Item) (table.Item, error)

// through reads and stores an item as its kind says. The owner of a value is the fourth
// part of its key's partition.
func through[T any](kind *table.Kind[T]) rewritten {
	return func(t table.Tenant, it table.Item) (table.Item, error) {
		v, err := kind.FromItem(it)
		in := it.Shard()
		if part := strings.Split(it.PK, "#"); (kind.Type == "address" || in == "") && len(part) > 3 {
			in = part[3]
		}
		next := kind.Item(t, in, v)
		next.Version = it.Version
		return next, err
	}
}

// by reads and stores an item with functions of its package.
func by[T any](read func(table.Item) (T, error), store func(table.Tenant, T, int) table.Item) rewritten {
	return func(t table.Tenant, it table.Item) (table.Item, error) {
		v, err := read(it)
		next := store(t, v, 1)
		next.Version = it.Version
		return next, err
	}
}

var storedKinds = map[string]rewritten{
	"address": through(&address.Kind), "branding": through(&branding.Kind), "business": through(&delivery.BusinessKind),
	"document": through(&fleet.DocumentKind), "membership": through(&person.MemberKind),
	"menuitem": through(&delivery.MenuKind), "order": through(&delivery.OrderKind), "payment": through(&payment.Kind),
	"robots": through(&sandbox.Kind), "service": through(&settings.ServiceKind), "tenant": through(&tenant.Kind),
	"withdrawal": through(&wallet.WithdrawalKind), "zone": through(&settings.ZoneKind),
	"export": through(&export.Kind), "import": through(&imports.Kind), "privacy": through(&privacy.Kind),
	"webhooks": through(&webhook.Kind),
	"customer": by(customer.FromItem, customer.Item), "driver": by(driver.FromItem, driver.Item),
	"trip": by(trip.FromItem, func(t table.Tenant, one trip.Trip, shards int) table.Item { return one.Item(t, shards) }),
}

// TestStoredItems: an item of each type, as the build fe0be458 wrote it, is read and stored
// again the same, byte for byte.
func TestStoredItems(t *testing.T) {
	text, err := os.ReadFile("testdata/stored_items.json")
	testkit.Must(t, err)
	var golden []map[string]attribute
	testkit.Must(t, json.Unmarshal(text, &golden))
	name := testkit.Name(t, tables.Options{StreamOff: true})
	db := testkit.Open(t, name, &testkit.Wire{})
	client, _ := tables.Clients(testkit.Endpoint(t))
	seen := map[string]bool{}
	for _, want := range golden {
		raw := map[string]types.AttributeValue{}
		for name, a := range want {
			raw[name] = a.value()
		}
		it := table.Decoded(raw)
		if storedKinds[it.Type] == nil {
			t.Errorf("nothing stores the golden item of type %s again", it.Type)
			continue
		}
		seen[it.Type] = true
		tn := db.Tenant(strings.Split(it.PK, "#")[1])
		next, err := storedKinds[it.Type](tn, it)
		testkit.Must(t, err)
		testkit.Must(t, tn.Load(t.Context(), next))
		out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &name, Key: map[string]types.AttributeValue{
			"pk": raw["pk"], "sk": raw["sk"]}})
		testkit.Must(t, err)
		got := map[string]attribute{}
		for name, v := range out.Item {
			got[name] = attributeOf(v)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s is stored in another form:\n%s", it.Type, diff)
		}
	}
	for kind := range storedKinds {
		if !seen[kind] {
			t.Errorf("there is no golden item of type %s", kind)
		}
	}
}

// attribute is a stored attribute in the form of DynamoDB's JSON.
type attribute struct {
	S    *string  `json:",omitempty"`
	N    *string  `json:",omitempty"`
	BOOL *bool    `json:",omitempty"`
	SS   []string `json:",omitempty"`
}

func (a attribute) value() types.AttributeValue {
	switch {
	case a.S != nil:
		return &types.AttributeValueMemberS{Value: *a.S}
	case a.N != nil:
		return &types.AttributeValueMemberN{Value: *a.N}
	case a.BOOL != nil:
		return &types.AttributeValueMemberBOOL{Value: *a.BOOL}
	}
	return &types.AttributeValueMemberSS{Value: a.SS}
}

func attributeOf(v types.AttributeValue) attribute {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return attribute{S: &v.Value}
	case *types.AttributeValueMemberN:
		return attribute{N: &v.Value}
	case *types.AttributeValueMemberBOOL:
		return attribute{BOOL: &v.Value}
	case *types.AttributeValueMemberSS:
		return attribute{SS: v.Value}
	}
	return attribute{}
}
