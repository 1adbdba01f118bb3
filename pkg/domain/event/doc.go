// Package event owns the tenant's event feed: the envelope of an event, its
// stored form, how events are appended and read, and the endpoints of the feed.
//
//	event.go      the envelope, keys and items
//	types.go      the types of events
//	append.go     the transaction that appends
//	read.go       pages of the feed and their cursors
//	endpoints.go  the endpoints and their handlers
//	stream.go     the feed as server-sent events
//
// The feed of a tenant has one or more shards. The events of one resource are in
// one shard, in the order of the resource's changes. Within a shard the events
// are numbered 1, 2, 3… without a gap. The transaction that appends an event also
// gives its number. So when an event is in the table, all events with lower numbers are
// too, and a position in the feed is one number for each shard.
package event
