// Package table owns the single DynamoDB table: the form of its keys and
// items, the handles through which alone it is read and written, and the guard
// that refuses every request whose keys the handle in use does not cover.
//
//	Tenant    covers "T#<tenant_id>#…" and nothing else
//	Platform  covers the prefixes it was made with ("CLIENT#", "PERSON#", …)
//	Join      covers what its handles cover, for a batch or transaction that needs both
//
// It knows no resource. Reads are bounded: there is no Scan, no query without
// a limit, and no ExclusiveStartKey: a cursor is the last range key seen.
// It is the only importer of guregu/dynamo; of the AWS SDK others use what is not
// the table: the stream, keys and queues.
package table
