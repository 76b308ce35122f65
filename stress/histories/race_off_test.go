//go:build !race

package histories_test

const underRace = false
