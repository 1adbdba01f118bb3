// Package feedback owns the roadmap: the platform's one list of feedback posts, which
// all tenants share. Operators submit posts (ideas and bugs), vote for them and comment
// on them. A post is named by its id, or by its slug: a readable name made from its title.
//
//	feedback.go   a post, its statuses and what may be submitted: pure rules
//	record.go     posts, bodies, comments and votes as items
//	rank.go       the rank rows: items by which lists find posts in their order
//	quota.go      what one operator and one tenant may write
//	store.go      one conditional transaction for each change by an operator
//	admin.go      changes by the svc command: status, deletion
//	texts.go      full-text search in texts that the process keeps in memory
//	comments.go   which comments are shown
//	list.go       lists: sorts, filters, search
//	ranked.go     how a list reads rank rows, and new posts that have none yet
//	endpoints.go  the endpoints and their handlers
//
// Posts, votes and comments are platform data. The author and tenant of a post
// are stored and never shown. The package must not know the projection, which
// updates the rank rows with RankRows when a post changes.
package feedback
