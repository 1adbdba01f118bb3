// Package wire builds requests to DynamoDB without the AWS SDK's middleware,
// which takes more processor time than everything else in an API request.
//
// It copies what the SDK does: for each operation, the SDK sends the first
// request of a process. Template keeps its address and headers, and the
// following requests have the same. Tests compare both, and check the
// signature with the SDK's own signer. What this package does not know, such as
// a member of an input or a type of attribute, stays with the SDK.
//
// The package sends nothing, and does not know the table's keys or items.
package wire
