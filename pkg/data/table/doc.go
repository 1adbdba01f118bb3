// Package table owns the single DynamoDB table: the format of its keys and
// items, and the handles that are the only access to it. A guard rejects every
// request whose keys are outside the handle in use.
//
//	Tenant    allows keys with the prefix "T#<tenant_id>#" only
//	Platform  allows keys with the prefixes it was made with ("CLIENT#", "PERSON#", …)
//	Join      allows the keys of all its handles, for a batch or transaction that needs them
//
// The package knows no resource. Reads are bounded: there is no Scan, no query
// without a limit, and no ExclusiveStartKey. A cursor is the last range key
// read. One exception is Footprint, which finds what is left of a tenant that an
// operator of the platform deletes; no function has the right to use it. Only
// this package imports guregu/dynamo. Packages outside pkg/data use the AWS SDK
// for other services (keys, queues, metrics) and for local engines and streams.
package table
