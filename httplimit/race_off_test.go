//go:build !race

package httplimit

const underRace = false
