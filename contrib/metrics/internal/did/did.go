// Package did has limiters that have done what is known, for the tests of all
// that tells what limiters did.
package did

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/contrib/metrics"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// Keys returns all keys that were used. None of them is to be seen anywhere.
func Keys() []string { return []string{"alice", "bob", "carol", "dave", "erin"} }

// Policies returns a limiter and a dry run, a table, and what each has done.
func Policies(t *testing.T) (*metrics.Policies, map[string]metrics.Counts) {
	p := new(metrics.Policies)
	p.Set("calls", limiter(t))
	p.Set("trial", table(t))
	return p, map[string]metrics.Counts{
		"calls": {Allowed: 6, Denied: 3, Errors: 2, Waits: 2, WaitSeconds: 1.2, Keys: 1, Forgotten: 3, Capped: 1},
		"trial": {Allowed: 1, WouldDeny: 3, Keys: 1},
	}
}

func limiter(t *testing.T) (l *shard.Limiter[string]) {
	synctest.Test(t, func(t *testing.T) {
		l = shard.New[string](gcra.PerSecond(2).Burst(5), shard.WithStats(), shard.WithMaxKeys(3, shard.Refuse))
		l.Take("alice", 5)  // allowed
		l.Take("alice", 1)  // denied
		l.Take("alice", 6)  // error: above the burst
		l.Take("alice", -1) // error
		for range 2 {       // allowed, after half a second each
			if err := l.Wait(t.Context(), "alice"); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		time.AfterFunc(200*time.Millisecond, cancel)
		if err := l.Wait(ctx, "alice"); err == nil { // denied, after 200 ms
			t.Fatal("a wait outlived its context")
		}
		l.Take("bob", 1)   // allowed
		l.Take("carol", 1) // allowed
		l.Take("dave", 1)  // denied, for want of room
		time.Sleep(time.Minute)
		l.Sweep() // alice, bob and carol are forgotten
		l.Take("erin", 1)
	})
	return l
}

func table(t *testing.T) (l *shard.Table[string]) {
	synctest.Test(t, func(*testing.T) {
		l = shard.NewTable[string](gcra.PerSecond(1), 10, shard.WithStats(), shard.WithDryRun())
		for _, n := range []int{1, 1, 2, -1} {
			l.Take("bob", n)
		}
	})
	return l
}
