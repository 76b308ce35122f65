//go:build race

package httplimit

const underRace = true
