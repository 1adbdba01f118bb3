package trip

// LastEntry returns the last entry of the log that is derived from the trip.
func (t Trip) LastEntry() LogEntry {
	log := t.Log()
	return log[len(log)-1]
}
