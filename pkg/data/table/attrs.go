package table

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc/pkg/base/money"
)

// kind is the type of a stored attribute.
type kind byte

const (
	kindOther kind = iota // a type that our items never use; only its presence is kept
	kindText
	kindNumber
	kindFlag
	kindSet
)

// attr is one stored attribute.
type attr struct {
	name string
	kind kind
	flag bool
	text string   // value of a string or number
	set  []string // value of a string set
}

// attrs are a stored item's attributes. An item has few, so a linear search
// replaces a map. nil means no item.
type attrs []attr

// get returns the attribute with the name; the second result is false if it is absent.
func (a attrs) get(name string) (attr, bool) {
	for i := range a {
		if a[i].name == name {
			return a[i], true
		}
	}
	return attr{}, false
}

// of returns the text of the named attribute. It returns "" if the attribute is absent or
// of another kind than k.
func (a attrs) of(name string, k kind) string {
	if found, ok := a.get(name); ok && found.kind == k {
		return found.text
	}
	return ""
}

// counters returns the number attributes whose names begin with prefix. The keys
// are the names without the prefix.
func (a attrs) counters(prefix string) map[string]money.Amount {
	out := map[string]money.Amount{}
	for i := range a {
		if name, ok := strings.CutPrefix(a[i].name, prefix); ok && name != "" && a[i].kind == kindNumber {
			out[name] = money.Amount(a[i].text)
		}
	}
	return out
}

// attrsOf converts attributes from the SDK's form to attrs. It returns nil for nil.
func attrsOf(raw map[string]types.AttributeValue) attrs {
	if raw == nil {
		return nil
	}
	out := make(attrs, 0, len(raw))
	for name, value := range raw {
		a := attr{name: name}
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			a.kind, a.text = kindText, v.Value
		case *types.AttributeValueMemberN:
			a.kind, a.text = kindNumber, v.Value
		case *types.AttributeValueMemberBOOL:
			a.kind, a.flag = kindFlag, v.Value
		case *types.AttributeValueMemberSS:
			a.kind, a.set = kindSet, v.Value
		}
		out = append(out, a)
	}
	return out
}
