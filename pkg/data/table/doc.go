// Package table owns the single DynamoDB table: the format of its keys and
// items, and the handles that are the only access to the table. A guard rejects
// every request with a key outside the handle that sends it.
//
//	Tenant    allows keys with the prefix "T#<tenant_id>#" only
//	Platform  allows keys with the prefixes it was made with ("CLIENT#", "PERSON#", …)
//	Join      allows the keys of all its handles, for a batch or transaction that needs them
//
// Reads are bounded: there is no Scan, no query without a limit, and no
// ExclusiveStartKey. A cursor is the last range key read. The exception is
// Footprint, which scans the table when `svc tenant delete` deletes a tenant.
// No Lambda function has the permission for a Scan. Except for Footprint, the
// package knows no resource.
//
// Only this package imports guregu/dynamo. Packages outside pkg/data use the
// AWS SDK for other services (KMS, SQS, STS), for local engines, and for the
// records of streams.
package table
