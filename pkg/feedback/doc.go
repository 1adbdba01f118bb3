// Package feedback owns the platform's roadmap: posts that operators of every
// tenant submit, vote for and comment on, and the six endpoints over them.
//
//	feedback.go   a post, its statuses and what may be submitted: pure rules
//	record.go     posts, bodies, comments and votes as items
//	rank.go       the rows that lists are read from, computed from a post
//	store.go      reads, and one conditional transaction for each change
//	list.go       lists: sorts, filters, search
//	endpoints.go  rows and handlers
//
// Posts are platform data; votes are kept under the voter's tenant. Who wrote a
// post and for which tenant is stored and never shown. It must not know the
// projection, which keeps the rows in step with the posts by RankRows.
package feedback
