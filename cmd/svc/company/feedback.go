package company

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/data/table"
	"svc/pkg/domain/feedback"
)

// feedbackCommand returns the group of commands svc feedback, about the platform's list
// of feedback posts.
func feedbackCommand(c *cli.CLI) *cobra.Command {
	return cli.Group("feedback", "Feedback posts on the platform's roadmap", feedbackList(c), feedbackStatus(c),
		feedbackDelete(c))
}

// postRow is a feedback post as --json prints it.
type postRow struct {
	ID           string          `json:"id"`
	Slug         string          `json:"slug"`
	Type         string          `json:"type"`
	Status       feedback.Status `json:"status"`
	Category     string          `json:"category,omitempty"`
	Title        string          `json:"title"`
	TitleEn      string          `json:"titleEn,omitempty"`
	VoteCount    int64           `json:"voteCount"`
	CommentCount int64           `json:"commentCount"`
	CreatedAt    string          `json:"createdAt"`
	UpdatedAt    string          `json:"updatedAt"`
}

// feedbackList returns the command svc feedback list.
func feedbackList(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the posts of the roadmap",
		Example: "  svc feedback list\n  svc feedback list --status ALL --sort newest --q receipt"}
	var in feedback.ListInput
	cmd.Flags().StringVar(&in.Q, "q", "", "only posts with this `text` in title or body")
	cmd.Flags().StringVar(&in.Type, "type", "", "only posts of this type, IDEA or BUG")
	cmd.Flags().StringVar(&in.Status, "status", "",
		"one `STATUS`, or ALL; without it UNDER_REVIEW, PLANNED and IN_PROGRESS")
	cmd.Flags().StringVar(&in.Category, "category", "", "only posts of this `category`")
	cmd.Flags().StringVar(&in.Sort, "sort", string(feedback.ByVotes), "`order`: votes, newest or comments")
	cmd.Flags().IntVar(&in.Limit, "limit", 100, "posts at most")
	cmd.RunE = cli.Act(func(ctx context.Context, _ []string) error {
		statuses := []string{"ALL"}
		for _, s := range feedback.Statuses {
			statuses = append(statuses, string(s))
		}
		for _, check := range []error{
			cli.OneOf("type", in.Type, []string{feedback.Idea, feedback.Bug}),
			cli.OneOf("status", in.Status, statuses),
			cli.OneOf("sort", in.Sort, []string{string(feedback.ByVotes), string(feedback.Newest), string(feedback.ByComments)}),
		} {
			if check != nil {
				return check
			}
		}
		if in.Limit < 1 || in.Limit > table.Examined {
			return cli.Usagef("--limit %d: expected 1 to %d", in.Limit, table.Examined)
		}
		p, err := c.Platform(ctx)
		if err != nil {
			return err
		}
		posts, err := feedback.List(ctx, p.DB, time.Now(), in)
		if err != nil {
			return err
		}
		rows, out := make([]postRow, len(posts)), cli.Table{Head: "VOTES COMMENTS+ TYPE STATUS CATEGORY+ CREATED+ SLUG ID+"}
		for i, post := range posts {
			rows[i] = postRow{post.ID, post.Slug, post.Type, post.Status, post.Category, post.Title, post.TitleEn, post.Votes,
				post.Comments, post.CreatedAt, post.UpdatedAt}
			day, _, _ := strings.Cut(post.CreatedAt, "T")
			out.Add(post.Votes, post.Comments, post.Type, post.Status, post.Category, day, post.Slug, post.ID)
		}
		return c.Show(rows, out)
	})
	return cmd
}

// feedbackStatus returns the command svc feedback status, which moves a post to another
// status.
func feedbackStatus(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "status ID|SLUG STATUS", Short: "Move a post to another status",
		Annotations: map[string]string{cli.StatusWords: strings.Trim(fmt.Sprint(feedback.Statuses), "[]")},
		Long: "Move a feedback post to UNDER_REVIEW, PLANNED, IN_PROGRESS, COMPLETED or REJECTED. A completed or " +
			"rejected post accepts no votes and no comments.",
		Example: "  svc feedback status let-a-business-pause-its-orders PLANNED\n  svc feedback status " +
			"pst_01JR0ADMAP0000000000000004 IN_PROGRESS",
		RunE: c.On(func(ctx context.Context, p cli.Platform, args []string) error {
			post, err := feedback.ChangeStatus(ctx, p.DB, cli.By(), args[0], args[1])
			if err != nil {
				return cli.Missing(err, "post", args[0])
			}
			out := map[string]string{"id": post.ID, "slug": post.Slug, "status": string(post.Status)}
			return c.Done(out, "%s is %s.", post.Slug, post.Status)
		})}
}

// feedbackDelete returns the command svc feedback delete, which deletes a post.
func feedbackDelete(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "delete ID|SLUG", Short: "Delete a post; this cannot be undone",
		Long: "Delete a feedback post with its texts, comments and votes. To keep a record of the post, reject it instead " +
			"(svc feedback status).",
		Example: "  svc feedback delete pst_01JR0ADMAP0000000000000004",
		RunE: c.On(func(ctx context.Context, p cli.Platform, args []string) error {
			post, err := feedback.Delete(ctx, p.DB, cli.By(), args[0])
			if err != nil {
				return cli.Missing(err, "post", args[0])
			}
			return c.Done(map[string]string{"id": post.ID, "slug": post.Slug}, "%s is deleted.", post.Slug)
		})}
}
