package httplimit

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// pauses are the keys that were asked to stay away, and until when. The zero
// value is empty.
//
// A key comes in with a response to one of its requests. It leaves when it is
// asked for after its pause, or with the next sweep: there is one after as many
// additions as the last one left keys. So the map holds at most about twice as
// many as are paused at the same time, and never more than maxPaused, and an
// addition looks at two keys on average, also while there is no room.
type pauses[K comparable] struct {
	held atomic.Int64 // entries, so that nobody locks while there are none

	mu    sync.Mutex
	until map[K]time.Time
	added int // since the last sweep, or tried to
	left  int // by it
}

const (
	minSweep  = 64
	maxPaused = 1 << 16
)

// add pauses the key for d from now, or for longer if it already is. If there is
// no room for another key, it does nothing.
func (p *pauses[K]) add(key K, now time.Time, d time.Duration) {
	if key != key {
		return // NaN: no later request would find it, nor would a sweep
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	end := now.Add(d)
	if old, ok := p.until[key]; ok {
		if end.After(old) {
			p.until[key] = end
		}
		return
	}
	if p.until == nil {
		p.until = map[K]time.Time{}
	}
	if p.added++; p.added > max(minSweep, p.left) {
		for k, end := range p.until {
			if !now.Before(end) {
				delete(p.until, k)
			}
		}
		p.added, p.left = 0, len(p.until)
	}
	if len(p.until) < maxPaused {
		p.until[key] = end
	}
	p.held.Store(int64(len(p.until)))
}

// end returns the end of the key's pause, and forgets it if it is over.
func (p *pauses[K]) end(key K, now time.Time) (end time.Time, paused bool) {
	// Whoever follows a response follows its add too, and sees this.
	if p.held.Load() == 0 {
		return time.Time{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	end, ok := p.until[key]
	if !ok || now.Before(end) {
		return end, ok
	}
	delete(p.until, key)
	p.held.Store(int64(len(p.until)))
	return time.Time{}, false
}

func (p *pauses[K]) has(key K, now time.Time) bool {
	_, paused := p.end(key, now)
	return paused
}

// wait returns when the key is not paused, and with an error when the context
// is done, or at once if its deadline comes first.
func (p *pauses[K]) wait(ctx context.Context, key K) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for {
		now := time.Now()
		end, paused := p.end(key, now)
		if !paused {
			return nil
		}
		if deadline, ok := ctx.Deadline(); ok && deadline.Before(end) {
			return fmt.Errorf("httplimit: the server asked to stay away for another %v: %w",
				end.Sub(now).Round(time.Millisecond), context.DeadlineExceeded)
		}
		timer := time.NewTimer(end.Sub(now))
		select {
		case <-timer.C: // look again: the pause may have become longer
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}
