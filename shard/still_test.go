package shard

import (
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
)

// A comeInClock stands still, and lets a test come in where it is read.
type comeInClock struct{ hook func() }

func (c *comeInClock) Now() time.Duration {
	if hook := c.hook; hook != nil {
		hook()
	}
	return 0
}

// TestNothingWrittenAcrossChanges stops a booking of no tokens after it has found
// the key's cell, and before it has the limit. Meanwhile the limit changes, the
// key is charged, and the limit changes again: the answer, under the last limit,
// has to know of the charge.
func TestNothingWrittenAcrossChanges(t *testing.T) {
	c := new(comeInClock)
	l := New[int](gcra.Every(100).Burst(3), WithClock(c), WithShards(1))
	l.Take(1, 1)

	// The first change stops where it reads its instant: it is published.
	published, on, changed := make(chan bool), make(chan bool), make(chan bool)
	c.hook = func() {
		c.hook = nil
		published <- true
		<-on
	}
	go func() {
		l.SetLimit(gcra.Every(50).Burst(3))
		close(changed)
	}()
	<-published

	readings := 0
	c.hook = func() {
		if readings++; readings < 2 {
			return // the booking's own; the next is for the instant of the change
		}
		c.hook = nil
		close(on)
		<-changed
		l.Take(1, 1)
		l.SetLimit(gcra.Every(25).Burst(3))
	}
	r := l.Reserve(1, 0)
	if c.hook != nil {
		t.Fatal("the booking did not read the instant of the change")
	}
	d := r.Decision()
	if got := d.Limit(); got != l.Limit() {
		t.Fatalf("decided under %v, want %v", got, l.Limit())
	}
	if d.Remaining() != 1 || d.ResetAfter() != 50 {
		t.Errorf("remaining %d, full after %v, want 1 and 50ns: the charge between the changes was not seen", d.Remaining(), d.ResetAfter())
	}
}
