// Package feedback owns the platform's roadmap: posts that operators of every
// tenant submit, vote for and comment on, and the six endpoints over them.
//
//	feedback.go   a post, its statuses and what may be submitted: pure rules
//	record.go     posts, bodies, comments and votes as items
//	rank.go       the rows that lists are read from, computed from a post
//	quota.go      what one operator and one tenant may write
//	store.go      one conditional transaction for each change of an operator
//	admin.go      changes of the platform's own: status, deletion
//	texts.go      the texts that search looks into, kept in memory
//	comments.go   which comments are shown
//	list.go       lists: sorts, filters, search
//	ranked.go     the rows of a sort, and new posts that have none yet
//	endpoints.go  rows and handlers
//
// Posts, votes and comments are platform data. The author and tenant of a post
// are stored and never shown. The package must not know the projection, which
// uses RankRows to keep the listing rows in step with the posts.
package feedback
