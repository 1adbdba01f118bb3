package wire_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"svc/pkg/data/wire"
)

// seen keeps the last request that the SDK sent, with its body.
type seen struct {
	request *http.Request
	body    []byte
}

// Do implements aws.HTTPClient.
func (s *seen) Do(r *http.Request) (*http.Response, error) {
	var err error
	s.request = r
	if s.body, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Request: r, ContentLength: 2,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:   io.NopCloser(strings.NewReader("{}"))}, nil
}

// sdk is a client of the SDK whose requests are kept.
func sdk(provider aws.CredentialsProvider) (*dynamodb.Client, *seen) {
	s := &seen{}
	return dynamodb.New(dynamodb.Options{Region: "eu-west-1", Credentials: provider, HTTPClient: s}), s
}

// send sends an input by the SDK, and returns the operation's name.
func send(t *testing.T, c *dynamodb.Client, in any) string {
	t.Helper()
	ctx, operation, err := context.Background(), "", error(nil)
	switch in := in.(type) {
	case *dynamodb.GetItemInput:
		operation = "GetItem"
		_, err = c.GetItem(ctx, in)
	case *dynamodb.BatchGetItemInput:
		operation = "BatchGetItem"
		_, err = c.BatchGetItem(ctx, in)
	case *dynamodb.QueryInput:
		operation = "Query"
		_, err = c.Query(ctx, in)
	case *dynamodb.TransactWriteItemsInput:
		operation = "TransactWriteItems"
		_, err = c.TransactWriteItems(ctx, in)
	}
	if err != nil {
		t.Fatalf("%s: %v", operation, err)
	}
	return operation
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// hard is a text with all kinds of characters that JSON escapes, and with others.
const hard = "a\"b\\c/d\n\t\x00\x1f<é>&\u2028😀"

// inputs are inputs as the service sends them, and inputs with further members.
func inputs() []any {
	values := map[string]types.AttributeValue{":h": text(hard), ":n": &types.AttributeValueMemberN{Value: "-1.5e3"}}
	names := map[string]string{"#h": hard}
	key := map[string]types.AttributeValue{"pk": text("T#1"), "sk": text(hard)}
	return []any{
		&dynamodb.GetItemInput{TableName: aws.String("table"), Key: key, ConsistentRead: aws.Bool(true),
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal},
		&dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{"table": {
			Keys: []map[string]types.AttributeValue{key, {"pk": text("2")}}, ConsistentRead: aws.Bool(true)}},
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal},
		&dynamodb.QueryInput{TableName: aws.String("table")},
		&dynamodb.QueryInput{TableName: aws.String("table"), IndexName: aws.String("by-g1"),
			KeyConditionExpression: aws.String("#h = :h"), FilterExpression: aws.String("#w0 = :w0"),
			ExpressionAttributeNames: names, ExpressionAttributeValues: values, ConsistentRead: aws.Bool(false),
			ScanIndexForward: aws.Bool(false), Limit: aws.Int32(21),
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal},
		&dynamodb.TransactWriteItemsInput{ClientRequestToken: aws.String("token"),
			ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes, TransactItems: []types.TransactWriteItem{
				{Put: &types.Put{TableName: aws.String("table"), ConditionExpression: aws.String("#h = :h"),
					Item: map[string]types.AttributeValue{"pk": text(hard),
						"set":  &types.AttributeValueMemberSS{Value: []string{"a", hard}},
						"flag": &types.AttributeValueMemberBOOL{Value: true}},
					ExpressionAttributeNames: names, ExpressionAttributeValues: values}},
				{Update: &types.Update{TableName: aws.String("table"), Key: key, UpdateExpression: aws.String("SET #h = :h"),
					ExpressionAttributeNames: names, ExpressionAttributeValues: values}},
				{Delete: &types.Delete{TableName: aws.String("table"), Key: key}},
				{ConditionCheck: &types.ConditionCheck{TableName: aws.String("table"), Key: key,
					ConditionExpression:                 aws.String("attribute_exists(pk)"),
					ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}},
			}},
	}
}

// TestSameOnTheWire: a request has the address, headers and JSON that the SDK
// sends for the same input, and the signature of the SDK's signer.
func TestSameOnTheWire(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "TripsFunction")
	t.Setenv("_X_AMZN_TRACE_ID", "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1")
	for name, provider := range map[string]credentials.StaticCredentialsProvider{
		"with a session token":    credentials.NewStaticCredentialsProvider("id", "secret", "session/+="),
		"without a session token": credentials.NewStaticCredentialsProvider("id", "secret", ""),
	} {
		t.Run(name, func(t *testing.T) {
			for _, in := range inputs() {
				client, by := sdk(provider)
				operation := send(t, client, in)
				requests := &wire.Requests{Credentials: provider}
				if _, ok := requests.New(t.Context(), operation, nil); ok {
					t.Fatalf("%s: a request before the SDK has sent one", operation)
				}
				requests.Learn(by.request)
				body, ok := wire.Encode(in)
				if !ok {
					t.Fatalf("%s: not encoded", operation)
				}
				sameJSON(t, by.body, body)
				req, ok := requests.New(t.Context(), operation, body)
				if !ok {
					t.Fatalf("%s: no request", operation)
				}
				if req.Method != by.request.Method || req.URL.String() != by.request.URL.String() {
					t.Errorf("%s %s, the SDK sends %s %s", req.Method, req.URL, by.request.Method, by.request.URL)
				}
				sent, err := io.ReadAll(req.Body)
				if err != nil || req.ContentLength != int64(len(body)) || string(sent) != string(body) {
					t.Errorf("%d bytes of body %q", req.ContentLength, sent)
				}
				if diff := cmp.Diff(alike(by.request.Header), alike(req.Header)); diff != "" {
					t.Errorf("%s: %s", operation, diff)
				}
				sameSignature(t, provider.Value, req, body)
			}
		})
	}
}

// alike returns the headers without what differs in every request.
func alike(h http.Header) http.Header {
	h = h.Clone()
	if len(h.Get("Amz-Sdk-Invocation-Id")) != len("00000000-0000-4000-8000-000000000000") {
		return h
	}
	for _, name := range []string{"Amz-Sdk-Invocation-Id", "Authorization", "X-Amz-Date", "Content-Length"} {
		h.Del(name)
	}
	return h
}

func sameJSON(t *testing.T, want, have []byte) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(want, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(have, &b); err != nil {
		t.Fatalf("%v: %s", err, have)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
}

// sameSignature signs the request again with the SDK's signer.
func sameSignature(t *testing.T, c aws.Credentials, req *http.Request, body []byte) {
	t.Helper()
	at, err := time.Parse("20060102T150405Z", req.Header.Get("X-Amz-Date"))
	if err != nil {
		t.Fatal(err)
	}
	again := req.Clone(t.Context())
	again.Header.Del("Authorization")
	hash := fmt.Sprintf("%x", sha256.Sum256(body))
	if err := v4.NewSigner().SignHTTP(t.Context(), c, again, hash, "dynamodb", "eu-west-1", at); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(again.Header, req.Header); diff != "" {
		t.Error(diff)
	}
}

// TestUnknownInputs: for each member of an input, also one of a newer SDK, the
// encoder writes what the SDK writes, or leaves the input to the SDK.
func TestUnknownInputs(t *testing.T) {
	client, by := sdk(credentials.NewStaticCredentialsProvider("id", "secret", ""))
	for _, in := range inputs() {
		tried := 0
		eachMember(reflect.ValueOf(in).Elem(), func(path string) {
			tried++
			body, ok := wire.Encode(in)
			if !ok {
				return
			}
			send(t, client, in)
			t.Run(path, func(t *testing.T) { sameJSON(t, by.body, body) })
		})
		if tried < 3 {
			t.Errorf("%T: %d members were tried", in, tried)
		}
	}
}

// eachMember sets each empty member of a struct, and of the structs in it, one
// at a time.
func eachMember(v reflect.Value, try func(path string)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			eachMember(v.Elem(), try)
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachMember(v.Index(i), try)
		}
	case reflect.Map:
		for _, name := range v.MapKeys() { // values of a map cannot be set in place
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(name))
			was := v.MapIndex(name)
			eachMember(value, func(path string) { v.SetMapIndex(name, value); try(path) })
			v.SetMapIndex(name, was)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f, name := v.Field(i), v.Type().Name()+"."+v.Type().Field(i).Name
			switch {
			case !f.CanSet():
			case !f.IsZero():
				eachMember(f, try)
			default:
				f.Set(example(f.Type()))
				try(name)
				f.SetZero()
			}
		}
	default:
	}
}

// example returns a value that is not empty.
func example(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(example(t.Elem()))
	case reflect.String:
		v.SetString("NONE")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32:
		v.SetInt(7)
	case reflect.Slice:
		v.Set(reflect.Append(v, example(t.Elem())))
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(example(t.Key()), example(t.Elem()))
	case reflect.Interface:
		v.Set(reflect.ValueOf(text("example")))
	case reflect.Struct:
		for i := range t.NumField() {
			if v.Field(i).CanSet() { // each required member, and the others too
				v.Field(i).Set(example(t.Field(i).Type))
			}
		}
	default:
	}
	return v
}

// TestLeftToTheSDK: Encode returns false for what the encoder does not know.
func TestLeftToTheSDK(t *testing.T) {
	item := func(v types.AttributeValue) any {
		return &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{Item: map[string]types.AttributeValue{"a": v}}}}}
	}
	for name, in := range map[string]any{
		"another operation": &dynamodb.PutItemInput{},
		"bytes":             item(&types.AttributeValueMemberB{Value: []byte("a")}),
		"a list":            item(&types.AttributeValueMemberL{}),
		"a map":             item(&types.AttributeValueMemberM{}),
		"null":              item(&types.AttributeValueMemberNULL{Value: true}),
		"a set of numbers":  item(&types.AttributeValueMemberNS{Value: []string{"1"}}),
		"not UTF-8":         item(text("\xff")),
		"no value":          item(nil),
	} {
		if body, ok := wire.Encode(in); ok {
			t.Errorf("%s: %s", name, body)
		}
	}
}

// TestLearn: only the usual request of an operation becomes a template.
func TestLearn(t *testing.T) {
	provider := credentials.NewStaticCredentialsProvider("id", "secret", "")
	client, by := sdk(provider)
	operation := send(t, client, &dynamodb.QueryInput{TableName: aws.String("table")})
	for name, change := range map[string]func(*http.Request){
		"without a signature": func(r *http.Request) { r.Header.Del("Authorization") },
		"another algorithm": func(r *http.Request) {
			r.Header.Set("Authorization", "AWS4-ECDSA-P256-SHA256 Credential=a/b/c/d/e")
		},
		"a second attempt": func(r *http.Request) { r.Header.Set("Amz-Sdk-Request", "attempt=2; max=4") },
		"another path":     func(r *http.Request) { r.URL.Path = "/tables" },
		"a query":          func(r *http.Request) { r.URL.RawQuery = "a=b" },
		"another target":   func(r *http.Request) { r.Header.Set("X-Amz-Target", "Other.Query") },
		"a GET":            func(r *http.Request) { r.Method = http.MethodGet },
	} {
		changed, requests := by.request.Clone(t.Context()), &wire.Requests{Credentials: provider}
		change(changed)
		requests.Learn(changed)
		if _, ok := requests.New(t.Context(), operation, nil); ok {
			t.Errorf("%s: it became a template", name)
		}
	}
	requests := &wire.Requests{Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, io.EOF
	})}
	requests.Learn(by.request)
	if _, ok := requests.New(t.Context(), operation, nil); ok {
		t.Error("a request without credentials")
	}
}

// TestNextDay: the signing key of one day signs no request of the next day.
func TestNextDay(t *testing.T) {
	provider := credentials.NewStaticCredentialsProvider("id", "secret", "")
	client, by := sdk(provider)
	operation := send(t, client, &dynamodb.QueryInput{TableName: aws.String("table")})
	now := time.Date(2026, 3, 1, 23, 59, 59, 0, time.UTC)
	requests := &wire.Requests{Credentials: provider, Now: func() time.Time { return now }}
	requests.Learn(by.request)
	for range 3 {
		req, ok := requests.New(t.Context(), operation, []byte("{}"))
		if !ok {
			t.Fatal("no request")
		}
		sameSignature(t, provider.Value, req, []byte("{}"))
		now = now.Add(time.Second)
	}
}
