// Package table owns the single DynamoDB table: the format of its keys and
// items, and the handles that are the only access to it. A guard rejects every
// request whose keys are outside the handle in use.
//
//	Tenant    covers "T#<tenant_id>#…" and nothing else
//	Platform  covers the prefixes it was made with ("CLIENT#", "PERSON#", …)
//	Join      covers what its handles cover, for a batch or transaction that needs both
//
// The package knows no resource. Reads are bounded: there is no Scan, no query
// without a limit, and no ExclusiveStartKey. A cursor is the last range key
// read. One exception is Footprint, which finds what is left of a tenant that an
// operator of the platform deletes; no function has the right to use it. Only
// this package imports guregu/dynamo. Other packages use the AWS SDK only for
// the stream, keys and queues.
package table
