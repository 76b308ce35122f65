//go:build unix

package main

import (
	"syscall"
	"time"
)

// ownTime is the CPU time that this program has used, 0 if that is not known.
func ownTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
