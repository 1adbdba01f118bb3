package main

import (
	"context"

	"github.com/spf13/cobra"

	"svc/pkg/feedback"
)

func feedbackCommand(c *cli) *cobra.Command {
	return group("feedback", "The platform's roadmap", c.feedbackStatus())
}

func (c *cli) feedbackStatus() *cobra.Command {
	return &cobra.Command{Use: "status ID|SLUG STATUS", Short: "Move a post to another status", Args: cobra.ExactArgs(2),
		Long:    "Move a feedback post to UNDER_REVIEW, PLANNED, IN_PROGRESS, COMPLETED or REJECTED. The last two take no more votes and comments.",
		Example: "  svc feedback status let-a-business-pause-its-orders PLANNED\n  svc feedback status pst_01JR0ADMAP0000000000000004 IN_PROGRESS",
		RunE: act(func(ctx context.Context, args []string) error {
			p, err := c.place(ctx)
			if err != nil {
				return err
			}
			post, err := feedback.ChangeStatus(ctx, p.db, by(), args[0], args[1])
			if err != nil {
				return missing(err, "post", args[0])
			}
			out := map[string]string{"id": post.ID, "slug": post.Slug, "status": string(post.Status)}
			return c.done(out, "%s is %s.", post.Slug, post.Status)
		})}
}
