//go:build !race

package stress_test

const underRace = false
