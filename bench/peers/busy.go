package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
)

// Who else wants the cores while a pacer waits. Processes are what the
// operating system shares the cores with; goroutines are worse, since Go lets
// each run for 10 ms before a timer that is due gets its turn.
const (
	busyNot        = "no"
	busyGoroutines = "goroutines"
	busyProcesses  = "processes"
)

// occupy keeps n cores busy until it is stopped.
func occupy(by string, n int) (stop func(), err error) {
	switch by {
	case busyNot:
		return func() {}, nil
	case busyGoroutines:
		return spinGoroutines(n), nil
	case busyProcesses:
		return spinProcesses(n)
	}
	return nil, fmt.Errorf("busy %q: want %s, %s or %s", by, busyNot, busyGoroutines, busyProcesses)
}

func spinGoroutines(n int) (stop func()) {
	var (
		done atomic.Bool
		wg   sync.WaitGroup
	)
	for range n {
		wg.Go(func() {
			for !done.Load() {
			}
		})
	}
	return func() {
		done.Store(true)
		wg.Wait()
	}
}

// spinProcesses starts this program n times with -spin. The children end when
// their standard input does, even if this process dies before it says so.
func spinProcesses(n int) (stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, stop := range stops {
			stop()
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for range n {
		cmd := exec.Command(self, "-spin")
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			stop()
			return nil, err
		}
		stops = append(stops, func() {
			in.Close()
			cmd.Wait()
		})
	}
	return stop, nil
}

// spinUntilEOF is what such a child does.
func spinUntilEOF(in io.Reader) {
	defer spinGoroutines(1)()
	io.Copy(io.Discard, in)
}
