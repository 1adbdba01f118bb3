// Package webhook owns webhook endpoints: addresses to which a tenant's events are
// sent. It owns what an endpoint is, its signing secrets, the state of each
// delivery, the requests to the sender, and the API's operations on endpoints.
//
//	webhook.go       an endpoint, its address and its stored form
//	copies.go        copies of the endpoints, for tenants with a large feed
//	change.go        changes of endpoints, for the API and for svc webhook
//	subscription.go  subscriptions of agents, for the MCP server
//	personal.go      subscriptions of riders' and drivers' agents
//	message.go       the messages that an endpoint gets, for the OpenAPI document
//	sign.go          signatures (Standard Webhooks 1.0)
//	delivery.go      deliveries, requests to the sender and messages in its queue
//	endpoints.go     the API's endpoints and their handlers
//
// All endpoints of a tenant are one item, the Book. So the limit of their number is exact,
// and one read finds all endpoints that an event goes to. The subscriptions of a rider's or
// driver's agents are a Book of that person. The tenant's Book says whether any person may
// have one, so that the feed need not look for them otherwise. The package sends nothing:
// the stream passes its changes to pkg/background/feed, and pkg/background/deliver sends.
package webhook
