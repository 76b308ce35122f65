package redislimit_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weir-go/weir/contrib/redislimit"
)

// TestRollout: two versions of a service, or one limiter that changes to and fro, ask as
// fast as they can under limits that differ. No change gives or takes a token: what
// refills meanwhile is none, by either limit.
func TestRollout(t *testing.T) {
	s := newServer(t)
	for _, row := range []struct {
		limits  []string // of each process; one that changes to and fro if there is only one
		changes []string
		least   int
		most    int
		why     string
	}{
		{[]string{"1/h burst 600", "7/d burst 600"}, nil, 600, 600, "two rates"},
		{[]string{"1/h burst 600", "0/s burst 600"}, nil, 600, 600, "one without a refill"},
		{[]string{"1/h burst 600", "1/h burst 600 step 1h"}, nil, 600, 600 + 1, "one in steps, of which the end may come"},
		{[]string{"1/h burst 600", "1/h burst 500"}, nil, 500, 600, "two bursts: the one of who is first"},
		{[]string{"1/h burst 600"}, []string{"5/d burst 600", "1/h burst 600"}, 600, 600, "to and fro"},
		{[]string{"1/h burst 600"}, []string{"1/h burst 601", "1/h burst 700", "1/h burst 600"}, 500, 600, "bursts to and fro: tokens stay, and a burst above is cut"},
	} {
		var ls []*redislimit.Limiter
		for _, limit := range row.limits {
			ls = append(ls, newLimiter(t, s.client(), limit, redislimit.Closed(), redislimit.WithPrefix(row.why), redislimit.WithMaxDebt(len(ls))))
		}
		var granted atomic.Int64
		var wg sync.WaitGroup
		asking, ended := atomic.Int64{}, make(chan struct{})
		for g := range 6 {
			l := ls[g%len(ls)]
			asking.Add(1)
			wg.Go(func() {
				defer func() {
					if asking.Add(-1) == 0 {
						close(ended)
					}
				}()
				for {
					d, err := l.Take(ctx, "k", 1)
					if err != nil {
						t.Error(err)
					}
					if granted.Add(int64(d.Granted())); !d.OK() {
						return
					}
				}
			})
		}
		changes := 0
		for going := len(row.changes) > 0; going; {
			for _, limit := range row.changes {
				if err := ls[0].SetLimit(ctx, limitOf(t, limit)); err != nil {
					t.Error(err)
				}
				changes++
			}
			select {
			case <-ended:
				going = false
			default:
			}
		}
		wg.Wait()
		if got := int(granted.Load()); got < row.least || got > row.most {
			t.Errorf("%s: %d granted, want %d to %d; %d changes", row.why, got, row.least, row.most, changes)
		}
		if len(row.changes) > 0 && changes < 2*len(row.changes) {
			t.Errorf("%s: %d changes only", row.why, changes)
		}
	}
}
