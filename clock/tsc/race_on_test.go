//go:build race

package tsc

// days is the part of the simulated days that the race detector is made to live
// through: it looks at one goroutine at a time there.
const days = 1.0 / 24
