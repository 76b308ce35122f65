//go:build race

package redislimit_test

const raceOn = true
