// Package feedback owns the platform's roadmap: posts that operators of every
// tenant submit, vote for and comment on, and the six endpoints over them.
//
//	feedback.go   a post, its statuses and what may be submitted: pure rules
//	record.go     posts, bodies, comments and votes as items
//	rank.go       the rank rows that lists read, computed from a post
//	quota.go      what one operator and one tenant may write
//	store.go      one conditional transaction for each change by an operator
//	admin.go      changes by the svc command: status, deletion
//	texts.go      the texts that searches read, kept in memory
//	comments.go   which comments are shown
//	list.go       lists: sorts, filters, search
//	ranked.go     the rank rows of a sort, and new posts that have none yet
//	endpoints.go  rows and handlers
//
// Posts, votes and comments are platform data. The author and tenant of a post
// are stored and never shown. The package must not know the projection, which
// updates the rank rows with RankRows when a post changes.
package feedback
