package wire

import (
	"strconv"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc/pkg/base/jsonscan"
)

// Encode returns the JSON of an operation's input. ok is false if only the SDK
// can send the input: its operation, a member or an attribute's type is unknown
// to this package, or a text is not UTF-8.
func Encode(in any) (body []byte, ok bool) {
	e := encoder{out: make([]byte, 0, usualBody)}
	switch in := in.(type) {
	case *dynamodb.GetItemInput:
		e.get(in)
	case *dynamodb.BatchGetItemInput:
		e.batchGet(in)
	case *dynamodb.QueryInput:
		e.query(in)
	case *dynamodb.TransactWriteItemsInput:
		e.transaction(in)
	default:
		return nil, false
	}
	return e.out, !e.unknown && utf8.Valid(e.out)
}

// usualBody is a size in bytes. The JSON of most inputs fits into it.
const usualBody = 1024

// encoder appends JSON. unknown means that the input has something that the
// encoder cannot write.
type encoder struct {
	out     []byte
	unknown bool
}

func (e *encoder) get(in *dynamodb.GetItemInput) {
	e.only(in.AttributesToGet == nil && in.ExpressionAttributeNames == nil && in.ProjectionExpression == nil)
	e.open('{')
	e.text("TableName", in.TableName)
	e.values("Key", in.Key)
	e.flag("ConsistentRead", in.ConsistentRead)
	e.word("ReturnConsumedCapacity", string(in.ReturnConsumedCapacity))
	e.close('}')
}

func (e *encoder) batchGet(in *dynamodb.BatchGetItemInput) {
	e.open('{')
	e.name("RequestItems")
	e.open('{')
	for table, asked := range in.RequestItems {
		e.only(asked.AttributesToGet == nil && asked.ExpressionAttributeNames == nil && asked.ProjectionExpression == nil)
		e.name(table)
		e.open('{')
		e.flag("ConsistentRead", asked.ConsistentRead)
		e.name("Keys")
		e.open('[')
		for _, key := range asked.Keys {
			e.comma()
			e.attributes(key)
		}
		e.close(']')
		e.close('}')
	}
	e.close('}')
	e.word("ReturnConsumedCapacity", string(in.ReturnConsumedCapacity))
	e.close('}')
}

func (e *encoder) query(in *dynamodb.QueryInput) {
	e.only(in.AttributesToGet == nil && in.ConditionalOperator == "" && in.ExclusiveStartKey == nil &&
		in.KeyConditions == nil && in.ProjectionExpression == nil && in.QueryFilter == nil && in.Select == "")
	e.open('{')
	e.text("TableName", in.TableName)
	e.text("IndexName", in.IndexName)
	e.text("KeyConditionExpression", in.KeyConditionExpression)
	e.text("FilterExpression", in.FilterExpression)
	e.names(in.ExpressionAttributeNames)
	e.values("ExpressionAttributeValues", in.ExpressionAttributeValues)
	e.flag("ConsistentRead", in.ConsistentRead)
	e.flag("ScanIndexForward", in.ScanIndexForward)
	if in.Limit != nil {
		e.name("Limit")
		e.out = strconv.AppendInt(e.out, int64(*in.Limit), 10)
	}
	e.word("ReturnConsumedCapacity", string(in.ReturnConsumedCapacity))
	e.close('}')
}

func (e *encoder) transaction(in *dynamodb.TransactWriteItemsInput) {
	e.open('{')
	e.text("ClientRequestToken", in.ClientRequestToken)
	e.word("ReturnConsumedCapacity", string(in.ReturnConsumedCapacity))
	e.word("ReturnItemCollectionMetrics", string(in.ReturnItemCollectionMetrics))
	e.name("TransactItems")
	e.open('[')
	for i := range in.TransactItems {
		e.comma()
		e.operation(&in.TransactItems[i])
	}
	e.close(']')
	e.close('}')
}

func (e *encoder) operation(op *types.TransactWriteItem) {
	e.open('{')
	if p := op.Put; p != nil {
		e.name("Put")
		e.open('{')
		e.values("Item", p.Item)
		e.conditional(p.TableName, p.ConditionExpression, p.ExpressionAttributeNames, p.ExpressionAttributeValues,
			p.ReturnValuesOnConditionCheckFailure)
	}
	if u := op.Update; u != nil {
		e.name("Update")
		e.open('{')
		e.values("Key", u.Key)
		e.text("UpdateExpression", u.UpdateExpression)
		e.conditional(u.TableName, u.ConditionExpression, u.ExpressionAttributeNames, u.ExpressionAttributeValues,
			u.ReturnValuesOnConditionCheckFailure)
	}
	if d := op.Delete; d != nil {
		e.name("Delete")
		e.open('{')
		e.values("Key", d.Key)
		e.conditional(d.TableName, d.ConditionExpression, d.ExpressionAttributeNames, d.ExpressionAttributeValues,
			d.ReturnValuesOnConditionCheckFailure)
	}
	if c := op.ConditionCheck; c != nil {
		e.name("ConditionCheck")
		e.open('{')
		e.values("Key", c.Key)
		e.conditional(c.TableName, c.ConditionExpression, c.ExpressionAttributeNames, c.ExpressionAttributeValues,
			c.ReturnValuesOnConditionCheckFailure)
	}
	e.close('}')
}

// conditional writes the members that all operations of a transaction have in
// common, and closes the operation.
func (e *encoder) conditional(table, condition *string, names map[string]string,
	values map[string]types.AttributeValue, onFailure types.ReturnValuesOnConditionCheckFailure) {
	e.text("TableName", table)
	e.text("ConditionExpression", condition)
	e.names(names)
	e.values("ExpressionAttributeValues", values)
	e.word("ReturnValuesOnConditionCheckFailure", string(onFailure))
	e.close('}')
}

func (e *encoder) names(names map[string]string) {
	if names == nil {
		return
	}
	e.name("ExpressionAttributeNames")
	e.open('{')
	for placeholder, name := range names {
		e.name(placeholder)
		e.out = jsonscan.AppendString(e.out, name)
	}
	e.close('}')
}

func (e *encoder) values(name string, values map[string]types.AttributeValue) {
	if values != nil {
		e.name(name)
		e.attributes(values)
	}
}

func (e *encoder) attributes(values map[string]types.AttributeValue) {
	e.open('{')
	for name, value := range values {
		e.name(name)
		e.attribute(value)
	}
	e.close('}')
}

func (e *encoder) attribute(value types.AttributeValue) {
	e.open('{')
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		e.name("S")
		e.out = jsonscan.AppendString(e.out, v.Value)
	case *types.AttributeValueMemberN:
		e.name("N")
		e.out = jsonscan.AppendString(e.out, v.Value)
	case *types.AttributeValueMemberBOOL:
		e.name("BOOL")
		e.out = strconv.AppendBool(e.out, v.Value)
	case *types.AttributeValueMemberSS:
		e.name("SS")
		e.open('[')
		for _, s := range v.Value {
			e.comma()
			e.out = jsonscan.AppendString(e.out, s)
		}
		e.close(']')
	default:
		e.unknown = true
	}
	e.close('}')
}

// only sets unknown if known is false. The caller passes false if the input has
// a member that the encoder does not write.
func (e *encoder) only(known bool) { e.unknown = e.unknown || !known }

// text writes a member if its value is not nil.
func (e *encoder) text(name string, value *string) {
	if value != nil {
		e.name(name)
		e.out = jsonscan.AppendString(e.out, *value)
	}
}

// word writes a member unless its value is empty.
func (e *encoder) word(name, value string) {
	if value != "" {
		e.text(name, &value)
	}
}

func (e *encoder) flag(name string, value *bool) {
	if value != nil {
		e.name(name)
		e.out = strconv.AppendBool(e.out, *value)
	}
}

func (e *encoder) name(name string) {
	e.comma()
	e.out = append(jsonscan.AppendString(e.out, name), ':')
}

// comma separates a member or element from the one before it.
func (e *encoder) comma() {
	if last := e.out[len(e.out)-1]; last != '{' && last != '[' {
		e.out = append(e.out, ',')
	}
}

func (e *encoder) open(c byte)  { e.out = append(e.out, c) }
func (e *encoder) close(c byte) { e.out = append(e.out, c) }
