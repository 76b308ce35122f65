//go:build !race

package shard

const (
	flooding = 2_000_000
	measured = true
	raceSlow = 0
)
