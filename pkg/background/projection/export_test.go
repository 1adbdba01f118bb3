package projection

// Held is what the tests use.
var Held = held
