package atomic_test

import (
	"sync"
	"testing"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// What comes between a limiter's reading of the clock and its next step.

func TestLimiterStartsAsItsLimitSays(t *testing.T) {
	for n := range 4 {
		clk := new(hookClock)
		l := gatomic.NewLimiter(gcra.PerSecond(1).Burst(3).Start(n), gatomic.WithClock(clk))
		if got := l.Peek(0).Remaining(); got != n {
			t.Errorf("a limiter that starts with %d has %d", n, got)
		}
	}
}

// TestDecisionAmidAChange: the limit has changed, and nobody has yet replaced
// the cell. Who decides then decides under the new limit.
func TestDecisionAmidAChange(t *testing.T) {
	for _, row := range []struct {
		name string
		take func(l *gatomic.Limiter) bool
	}{
		{"Take", func(l *gatomic.Limiter) bool { return l.Take(10).OK() }},
		{"AllowN", func(l *gatomic.Limiter) bool { return l.AllowN(10) }},
		{"TakeUpTo", func(l *gatomic.Limiter) bool { return l.TakeUpTo(10).Granted() == 10 }},
		{"Debit", func(l *gatomic.Limiter) bool { return l.Debit(10).Granted() == 10 }},
		{"Reserve", func(l *gatomic.Limiter) bool { r := l.Reserve(10); return r.Delay() == 0 }},
	} {
		l, clk := aQueue(10)
		l.Take(10)
		took := false
		// The first reading is the one that dates the change.
		clk.hooks = append(clk.hooks, func() {
			clk.Advance(10 * second)
			took = row.take(l)
		})
		l.SetLimit(gcra.PerMinute(1).Burst(10))
		if wait := l.Peek(1).RetryAfter(); !took || wait != time.Minute {
			t.Errorf("%s: granted %v; then the next token is %v away, want 1m0s", row.name, took, wait)
		}
	}
}

// TestLookAtACellThatDies: an equal limit looks at the cell and leaves it. If
// it dies under the look, its successor is no older than its death, or who read
// the clock before would have credit for time that was used.
func TestLookAtACellThatDies(t *testing.T) {
	l, clk := aQueue(1)
	taken := false
	clk.hooks = append(clk.hooks,
		func() { l.SetLimit(l.Limit()) }, // after the reading of the Allow below
		func() {
			clk.Advance(10 * second)
			taken = l.Allow()
			l.Reset()
		})
	if got := l.Allow(); !taken || !got || l.Allow() {
		t.Errorf("one token before a reset: %v, and one after: %v; or there was another", taken, got)
	}
}

// beforeClock runs a hook before each of its readings.
type beforeClock struct {
	clock.Manual
	mu    sync.Mutex
	hooks []func()
}

func (c *beforeClock) Now() time.Duration {
	c.mu.Lock()
	var hook func()
	if len(c.hooks) > 0 {
		hook, c.hooks = c.hooks[0], c.hooks[1:]
	}
	c.mu.Unlock()
	if hook != nil {
		hook()
	}
	return c.Manual.Now()
}

// TestClockBeforeCell stops a change of limit after its instant and before it has
// replaced the cell, and a decision in its reading of the clock. The cell that
// it looks for after that is of a limit that is over; had it been found before,
// it would be charged at an instant after the change.
func TestClockBeforeCell(t *testing.T) {
	for _, row := range []struct {
		name string
		take func(l *gatomic.Limiter) (granted int)
	}{
		{"AllowN", func(l *gatomic.Limiter) int {
			if l.AllowN(10) {
				return 10
			}
			return 0
		}},
		{"Take", func(l *gatomic.Limiter) int { return l.Take(10).Granted() }},
		{"TakeUpTo", func(l *gatomic.Limiter) int { return l.TakeUpTo(10).Granted() }},
		{"Debit", func(l *gatomic.Limiter) int { return l.Debit(20).Granted() - 10 }}, // 10 of them are debt
		{"Peek", func(l *gatomic.Limiter) int { return l.Peek(1).Remaining() }},
	} {
		clk := new(beforeClock)
		l := gatomic.NewLimiter(gcra.PerSecond(1).Burst(10), gatomic.WithClock(clk))
		l.Take(10)
		stopped, goOn, changed := make(chan bool), make(chan bool), make(chan bool)
		clk.hooks = []func(){
			func() { // the decision's reading
				go func() {
					defer close(changed)
					l.SetLimit(gcra.PerMinute(1).Burst(10))
				}()
				<-stopped
				clk.Advance(10 * time.Second)
			},
			nil, // the instant of the change
			func() { close(stopped); <-goOn },
		}
		if n := row.take(l); n != 0 {
			t.Errorf("%s: %d tokens, ten seconds after an empty bucket began to get one a minute", row.name, n)
		}
		close(goOn)
		<-changed
	}
}

// What is no settlement settles nothing.
func TestSettleOfNothing(t *testing.T) {
	l, _ := aQueue(10)
	r := l.Reserve(4)
	if r.Settle(-1); l.Peek(0).Remaining() != 6 {
		t.Errorf("a negative use: %d tokens, want 6", l.Peek(0).Remaining())
	}
	if r.Cancel(); l.Peek(0).Remaining() != 10 {
		t.Errorf("canceled after a negative use: %d tokens, want 10", l.Peek(0).Remaining())
	}
	refused := l.Reserve(11)
	if refused.Settle(15); l.Peek(0).Remaining() != 10 {
		t.Errorf("a reservation that was refused is settled: %d tokens, want 10", l.Peek(0).Remaining())
	}
	if got := gatomic.NewLimiter(l.Limit(), gatomic.WithMaxWait(7)).MaxWait(); got != 7 {
		t.Errorf("MaxWait = %v, want 7ns", got)
	}
}
