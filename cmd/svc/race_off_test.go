//go:build !race

package main

// raceOn is whether the race detector is on.
const raceOn = false
