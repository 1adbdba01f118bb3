// Package wire builds and sends requests to DynamoDB without the AWS SDK's
// middleware, which takes more processor time than everything else in an API
// request.
//
// For each operation, the SDK sends the first request of a process.
// Requests.Learn stores the address and headers of this request, and
// Requests.New uses them for the following requests. Tests compare these
// requests with those of the SDK, and check the signature with the SDK's own
// signer. The SDK still sends an input with a member or a type of attribute
// that this package does not know, or with a text that is not UTF-8.
//
// The package does not know the table's keys or items.
package wire
