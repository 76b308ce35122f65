package redislimit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/contrib/redislimit"
	"github.com/weir-go/weir/gcra"
)

// TestWait waits in real time on a server: it cannot be in a bubble, where the
// network does not end.
func TestWait(t *testing.T) {
	mini := miniredis.RunT(t)
	t.Run("miniredis", func(t *testing.T) { waits(t, "tcp", mini.Addr()) })
	t.Run("redis-server", func(t *testing.T) { waits(t, "unix", newServer(t).socket) })
}

func waits(t *testing.T, network, addr string) {
	client := clientOf(t, network, addr)
	l := newLimiter(t, client, "1000/s burst 5", redislimit.Closed())
	start := time.Now()
	for range 50 {
		if err := l.Wait(ctx, "paced"); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(start); took < 45*time.Millisecond-time.Microsecond {
		t.Errorf("50 tokens in %v, where 5 were there and 45 come in 45 ms", took)
	}

	slow := newLimiter(t, client, "1/h burst 5", redislimit.Closed(), redislimit.WithMaxWait(90*time.Minute), redislimit.WithPrefix("slow:"))
	if _, err := slow.Take(ctx, "k", 5); err != nil {
		t.Fatal(err)
	}
	full, err := slow.Peek(ctx, "k", 1)
	if err != nil {
		t.Fatal(err)
	}
	unchanged := func(what string) {
		t.Helper()
		d, err := slow.Peek(ctx, "k", 1)
		if err != nil || d.ResetAfter() > full.ResetAfter() {
			t.Errorf("%s: full in %v, error %v; before it was %v", what, d.ResetAfter(), err, full.ResetAfter())
		}
	}
	for _, row := range []struct {
		n    int
		ctx  func() (context.Context, context.CancelFunc)
		want error
		why  string
	}{
		{1, func() (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, 20*time.Minute) }, context.DeadlineExceeded, "the deadline is before the slot"},
		{2, func() (context.Context, context.CancelFunc) { return context.WithCancel(ctx) }, gcra.ErrLimited, "the slot is further away than WithMaxWait"},
		{6, func() (context.Context, context.CancelFunc) { return context.WithCancel(ctx) }, gcra.ErrExceedsBurst, "more than the burst"},
		{-1, func() (context.Context, context.CancelFunc) { return context.WithCancel(ctx) }, gcra.ErrCost, "negative"},
		{1, contextDone, context.Canceled, "done before"},
		{0, func() (context.Context, context.CancelFunc) { return context.WithCancel(ctx) }, nil, "nothing is there at once"},
	} {
		c, cancel := row.ctx()
		err := slow.WaitN(c, "k", row.n)
		cancel()
		if !errors.Is(err, row.want) {
			t.Errorf("WaitN(%d): %v, want %v: %s", row.n, err, row.want, row.why)
		}
		if wait := new(gatomic.WaitError); row.n > 0 && row.n < 3 && row.want != context.Canceled && (!errors.As(err, &wait) || wait.Delay < 50*time.Minute) {
			t.Errorf("WaitN(%d): %v does not say how far away the slot is", row.n, err)
		}
		unchanged(row.why)
	}
	// It ends while it sleeps, and the tokens come back.
	c, cancel := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- slow.Wait(c, "k") }()
	eventually(t, func() bool {
		d, err := slow.Peek(ctx, "k", 1)
		return err == nil && d.ResetAfter() > full.ResetAfter()
	})
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("canceled while it slept: %v", err)
	}
	unchanged("canceled while it slept")

	j, err := redislimit.Join(slow.For("{j}1"), slow.For("{j}2"))
	if err != nil {
		t.Fatal(err)
	}
	if err := j.WaitN(ctx, 5); err != nil {
		t.Errorf("a joint of full buckets: %v", err)
	}
	hurry, cancel2 := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel2()
	if err := j.Wait(hurry); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a joint whose slot is after the deadline: %v", err)
	}
	r, err := j.Reserve(ctx, 1)
	if err != nil || !r.OK() || r.Delay() < 50*time.Minute || r.Delay() > time.Hour {
		t.Errorf("a joint's reservation: ok %v in %v, error %v", r.OK(), r.Delay(), err)
	}
	if err := r.Cancel(ctx); err != nil {
		t.Error(err)
	}
	for _, key := range []string{"{j}1", "{j}2"} {
		if d, err := slow.Peek(ctx, key, 1); err != nil || d.RetryAfter() > time.Hour {
			t.Errorf("%s: the next token in %v, error %v: what was canceled did not come back", key, d.RetryAfter(), err)
		}
	}
	fast, err := redislimit.Join(l.For("{f}1"), l.For("{f}2"))
	if err != nil {
		t.Fatal(err)
	}
	start = time.Now()
	for range 15 {
		if err := fast.Wait(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(start); took < 10*time.Millisecond-time.Microsecond {
		t.Errorf("a joint's 15 tokens in %v, where 5 were there", took)
	}
}
