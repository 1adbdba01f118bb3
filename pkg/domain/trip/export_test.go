package trip

// LastEntry is the last entry of the log that follows from the trip.
func (t Trip) LastEntry() LogEntry {
	log := t.entries()
	return log[len(log)-1]
}
