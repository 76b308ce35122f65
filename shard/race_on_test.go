//go:build race

package shard

// The detector makes a map operation ten times slower and keeps memory of its
// own.
const (
	flooding = 100_000
	measured = false
	raceSlow = 9
)
