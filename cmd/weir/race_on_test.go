//go:build race

package main

// sampled: the detector makes math/big ten times slower, and there is one goroutine here.
const sampled = true
