package feed

// Step lets tests process changes.
var Step = Function.step
