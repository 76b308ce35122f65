package redislimit

import (
	"context"
	"sync/atomic"
	"time"
)

// A Client of one server bounds what it reads and writes by the time-out of its own
// (see usable); what is left for a context to bound is the wait for one of its
// connections. A timer a call is dear for what hardly ever happens, so the calls that
// begin within a sixteenth of the time-out share one, which is late by as much.

// A window is the calls that share a timer.
type window struct {
	ends time.Duration // on the limiter's clock: who begins later has another one
	done chan struct{} // closed when the time-out of the last of them is over
}

type windows struct{ now atomic.Pointer[window] }

func (w *windows) of(now, timeout time.Duration) <-chan struct{} {
	old := w.now.Load()
	if old != nil && now < old.ends {
		return old.done
	}
	next := &window{now + timeout/16, make(chan struct{})}
	time.AfterFunc(timeout+timeout/16, func() { close(next.done) })
	w.now.CompareAndSwap(old, next) // or another call's is the next; this one has its own
	return next.done
}

// A patience is the context of a call: the caller's, which does not end before the
// time-out unless it is canceled, with an end. That it is canceled is not seen; nor is
// it by a connection.
type patience struct {
	context.Context
	end  time.Time
	done <-chan struct{}
}

func (p *patience) Deadline() (time.Time, bool) { return p.end, true }
func (p *patience) Done() <-chan struct{}       { return p.done }
func (p *patience) Err() error {
	select {
	case <-p.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// bounded returns the context that the client is called with, and its end. The
// caller's own is enough if it ends earlier.
func (l *Limiter) bounded(ctx context.Context, t turn) (context.Context, context.CancelFunc) {
	if !l.single || l.virtual != nil {
		return context.WithTimeout(ctx, l.cfg.timeout)
	}
	end := l.start.Add(t.began + l.cfg.timeout)
	if sooner, ok := ctx.Deadline(); ok && sooner.Before(end) {
		return ctx, nothing
	}
	return &patience{ctx, end, l.windows.of(t.began, l.cfg.timeout)}, nothing
}

func nothing() {}
