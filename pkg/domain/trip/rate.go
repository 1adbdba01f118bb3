package trip

import (
	"context"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/timestamp"
	"svc/pkg/edge/api"
)

// rateable is for how long after its completion a trip may be rated.
const rateable = 30 * 24 * time.Hour

// Rate records the rider's rating of the driver, or the driver's rating of the rider.
// Errors: a 404 if it is another person's trip; a 409 if the trip is not completed, was
// completed more than 30 days ago, or was rated by this person. Neither person sees the
// other's rating, so that both stay honest.
func (t Trip) Rate(by LogActor, rating int, comment *string, now time.Time) (Trip, error) {
	next, data := t, LogData{Rating: &rating, Comment: comment}
	mine := &next.Rated
	if by.Type == string(authz.Driver) {
		mine = &next.RatedRider
	} else {
		data.DriverID = t.DriverID
	}
	switch {
	case t.anothers(by):
		return Trip{}, fault.NotFound()
	case t.Status != Completed || t.CompletedAt == nil:
		return Trip{}, fault.InvalidState("A trip that is %s cannot be rated. Rate it when it is COMPLETED.", t.Status)
	case *mine != 0:
		return Trip{}, fault.InvalidState("The trip is rated already.")
	case timestamp.Format(now.Add(-rateable)) > *t.CompletedAt:
		return Trip{}, fault.InvalidState("The trip was completed more than 30 days ago, and can no longer be rated.")
	}
	*mine = rating
	return next.Note(EventRated, by, data, now), nil
}

// rateRow returns the endpoint by which riders and drivers rate each other.
func rateRow() api.Row {
	return api.Post("/api/v1/me/trips/{id}/rating", "svc_rate_trip", authz.Both("rider.trips:rate", "driver.trips:rate"),
		rate, api.Extension(), api.Needs(needTrip), api.Tag("Ratings"), api.Summary("Rate the other side of a trip"),
		api.Confirm("The other person's rating changes, and a trip can be rated only once."),
		api.Text("The rider rates the driver, and the driver the rider: each once, up to 30 days after the completion. A "+
			"person's `rating` is the mean of all ratings. Neither side sees the other's rating of a trip or the comment; "+
			"operators see both in the trip's log."))
}

// RateInput names a trip and contains its rating.
type RateInput struct {
	ID   string `path:"id" doc:"Identifier of the trip." example:"trp_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	Body struct {
		Rating  int     `json:"rating" minimum:"1" maximum:"5" example:"5" doc:"From 1, the worst, to 5, the best."`
		Comment *string `json:"comment,omitempty" maxLength:"1000" doc:"What the person writes about the ride."`
	}
}

// Rated is the response to a rating.
type Rated struct {
	ID      string `json:"id" doc:"Identifier of the trip."`
	Rating  int    `json:"rating" doc:"The rating, 1 to 5."`
	RatedAt string `json:"ratedAt" format:"date-time" doc:"When the trip was rated."`
}

// rate records the caller's rating of a trip.
func rate(ctx context.Context, c *api.Caller, in *RateInput) (*Rated, error) {
	s, it, err := open(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	return change(ctx, s, it, func(t Trip) (Trip, error) {
		return t.Rate(actor(c), in.Body.Rating, in.Body.Comment, s.Now)
	}, func(t Trip) *Rated { return &Rated{t.ID, in.Body.Rating, t.UpdatedAt} })
}
