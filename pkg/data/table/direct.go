package table

import (
	"context"
	"net/http"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc/pkg/base/jsonscan"
	"svc/pkg/data/wire"
)

// client is the SDK's client with its own versions of the four operations that
// API requests use. If package wire can build the request, client sends the
// first attempt without the SDK, which takes a fraction of the processor time.
// If the attempt fails, or client cannot decode the response, the SDK gets the
// result in place of its own first attempt. The SDK then decodes errors, waits
// and tries again, as it always does.
type client struct {
	*dynamodb.Client
	table    string
	requests *wire.Requests
	attempts attempts
	quota    *ratelimit.TokenRateLimit // of the SDK's retries
}

// GetItem implements the SDK's operation. If reader can decode the response,
// the item goes to the answer that wanting added to the context, not to the
// output.
func (c *client) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (
	*dynamodb.GetItemOutput, error) {
	return call(ctx, c, "GetItem", in, o, c.Client.GetItem, func(body []byte) (*dynamodb.GetItemOutput, bool) {
		out := new(dynamodb.GetItemOutput)
		rest := func(s *jsonscan.Scanner, name jsonscan.Text) {
			if !name.Is("ConsumedCapacity") {
				s.Fail()
			}
			used := capacity(s)
			out.ConsumedCapacity = &used
		}
		return out, takeFrom(ctx, body, rest) || members(body, rest) // the latter if there is no item
	})
}

// BatchGetItem implements the SDK's operation. If reader can decode the
// response, the items go to the answer that wanting added to the context, not
// to the output.
func (c *client) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (
	*dynamodb.BatchGetItemOutput, error) {
	type output = dynamodb.BatchGetItemOutput
	return call(ctx, c, "BatchGetItem", in, o, c.Client.BatchGetItem, func(body []byte) (*output, bool) {
		out := new(output)
		return out, takeFrom(ctx, body, func(s *jsonscan.Scanner, name jsonscan.Text) {
			switch string(name.Raw) {
			case "ConsumedCapacity":
				s.Array(func(int) { out.ConsumedCapacity = append(out.ConsumedCapacity, capacity(s)) })
			case "UnprocessedKeys":
				empty(s)
			default:
				s.Fail()
			}
		})
	})
}

// Query implements the SDK's operation. If reader can decode the response, the
// items go to the answer that wanting added to the context, not to the output.
func (c *client) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (
	*dynamodb.QueryOutput, error) {
	return call(ctx, c, "Query", in, o, c.Client.Query, func(body []byte) (*dynamodb.QueryOutput, bool) {
		out := new(dynamodb.QueryOutput)
		return out, takeFrom(ctx, body, func(s *jsonscan.Scanner, name jsonscan.Text) {
			switch string(name.Raw) {
			case "ConsumedCapacity":
				used := capacity(s)
				out.ConsumedCapacity = &used
			case "LastEvaluatedKey":
				out.LastEvaluatedKey = key(s)
			case "Count":
				out.Count = count(s)
			case "ScannedCount":
				out.ScannedCount = count(s)
			default:
				s.Fail()
			}
		})
	})
}

// TransactWriteItems implements the SDK's operation.
func (c *client) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput,
	o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return call(ctx, c, "TransactWriteItems", in, o, c.Client.TransactWriteItems,
		func(body []byte) (*dynamodb.TransactWriteItemsOutput, bool) {
			out := new(dynamodb.TransactWriteItemsOutput)
			return out, members(body, func(s *jsonscan.Scanner, name jsonscan.Text) {
				if !name.Is("ConsumedCapacity") {
					s.Fail()
				}
				s.Array(func(int) { out.ConsumedCapacity = append(out.ConsumedCapacity, capacity(s)) })
			})
		})
}

// call sends an operation, and counts it in the context's Meter. decode returns
// false for a response that only the SDK can decode.
func call[In, Out any](ctx context.Context, c *client, operation string, in *In, o []func(*dynamodb.Options),
	sdk func(context.Context, *In, ...func(*dynamodb.Options)) (*Out, error),
	decode func([]byte) (*Out, bool)) (*Out, error) {
	m, counts := ctx.Value(meterKey{}).(*Meter)
	depth := 0
	if counts {
		depth = m.begin()
		ctx = context.WithValue(ctx, meterKey{}, nil) // counted here
	}
	out, err := func() (*Out, error) {
		sent := c.send(ctx, operation, in, len(o) == 0)
		if sent.good() {
			if out, ok := decode(sent.body); ok {
				_ = c.quota.AddTokens(retry.DefaultNoRetryIncrement) // as the SDK does after a success
				return out, nil
			}
		}
		return sdk(sent.hand(ctx), in, o...)
	}()
	if counts && err == nil {
		reads, used := consumed(out)
		m.end(depth, reads, used)
	} else if counts {
		m.end(depth, false, nil)
	}
	return out, err
}

// send sends the first attempt without the SDK. It returns nil if it sent
// nothing, because the guard rejects the input or only the SDK can send it. If
// the guard rejects the input, the guard in the SDK's middleware rejects it
// again, and the caller gets that error. usual is false if the call has
// options.
func (c *client) send(ctx context.Context, operation string, in any, usual bool) *sent {
	h, _ := ctx.Value(handleKey{}).(Handle)
	if !usual || h.allows(c.table, in) != nil {
		return nil
	}
	body, ok := wire.Encode(in)
	if !ok {
		return nil
	}
	req, ok := c.requests.New(ctx, operation, body)
	if !ok {
		return nil
	}
	s := &sent{}
	if s.response, s.err = c.attempts.once(req); s.err == nil { //nolint:bodyclose // ReadBody closes it
		s.body, s.err = wire.ReadBody(s.response.Body, s.response.ContentLength)
	}
	return s
}

// sent is the result of an attempt that was sent without the SDK. nil means that
// there was no such attempt.
type sent struct {
	response *http.Response
	body     []byte
	err      error
	given    bool // to the SDK
}

// good reports whether there is a response with status 200.
func (s *sent) good() bool {
	return s != nil && s.err == nil && s.response.StatusCode == http.StatusOK
}

type sentKey struct{}

// hand returns a context that gives the SDK this result in place of its own first
// attempt.
func (s *sent) hand(ctx context.Context) context.Context {
	if s == nil {
		return ctx
	}
	return context.WithValue(ctx, sentKey{}, s)
}

// sentBefore returns the result that hand added to the context, if the SDK has
// not received it yet, else nil.
func sentBefore(ctx context.Context) *sent {
	s, _ := ctx.Value(sentKey{}).(*sent)
	if s == nil || s.given {
		return nil
	}
	return s
}

func (s *sent) result() (*http.Response, error) {
	s.given = true
	if s.err != nil {
		return nil, s.err
	}
	s.response.Body = wire.Body(s.body)
	return s.response, nil
}

// takeFrom stores the response's items in the context's answer. It calls each
// with the name of every other member of the response, as members does. If
// takeFrom returns false, it has not changed the response, so that another
// decoder can read it.
func takeFrom(ctx context.Context, body []byte, each func(s *jsonscan.Scanner, name jsonscan.Text)) bool {
	wanted, ok := ctx.Value(answerKey{}).(*answer)
	if !ok {
		return false
	}
	r, ok := scanAnswer(body)
	if !ok || !members(r.rest, each) {
		return false
	}
	*wanted = answer{r.items(), true}
	return true
}

// members calls each with the name of every member of the response; each must
// read the value. members returns false if the response is malformed or each
// failed the scan.
func members(body []byte, each func(s *jsonscan.Scanner, name jsonscan.Text)) bool {
	s := jsonscan.New(body, deepestAnswer)
	s.Object(func(name jsonscan.Text) { each(&s, name) })
	return s.End()
}

// capacity reads the capacity units that a request consumed: those of the table,
// and the total.
func capacity(s *jsonscan.Scanner) (c types.ConsumedCapacity) {
	s.Object(func(name jsonscan.Text) {
		switch string(name.Raw) {
		case "CapacityUnits":
			c.CapacityUnits = units(s)
		case "Table":
			c.Table = &types.Capacity{}
			s.Object(func(name jsonscan.Text) {
				if name.Is("CapacityUnits") {
					c.Table.CapacityUnits = units(s)
				} else {
					s.Value()
				}
			})
		default:
			s.Value()
		}
	})
	return c
}

func units(s *jsonscan.Scanner) *float64 {
	n, err := strconv.ParseFloat(string(s.Number()), 64)
	if err != nil {
		s.Fail()
	}
	return &n
}

func count(s *jsonscan.Scanner) int32 {
	n, err := strconv.ParseInt(string(s.Number()), 10, 32)
	if err != nil {
		s.Fail()
	}
	return int32(n)
}

// key reads a key, whose attributes are strings.
func key(s *jsonscan.Scanner) map[string]types.AttributeValue {
	out := map[string]types.AttributeValue{}
	s.TypedObject(func(name jsonscan.Text, letter byte, text jsonscan.Text) {
		if letter != 'S' {
			s.Fail()
		}
		out[unescaped(name)] = str(unescaped(text))
	}, func(jsonscan.Text) { s.Fail() })
	return out
}

// empty reads an object. If the object has members, empty fails the scan, and
// the SDK decodes the response.
func empty(s *jsonscan.Scanner) { s.Object(func(jsonscan.Text) { s.Fail() }) }
