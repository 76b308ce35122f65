//go:build !race

package tsc

const days = 1.0
