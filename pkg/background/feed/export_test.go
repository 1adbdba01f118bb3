package feed

// What tests use.
var (
	Step     = Function.step
	TripType = tripType
	Unseen   = unseen
)
