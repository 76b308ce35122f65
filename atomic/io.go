package atomic

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/weir-go/weir/gcra"
)

// A Waiter is what paces bytes: a [Limiter], or the view of one key of a
// shard.Limiter. Its tokens are bytes.
type Waiter interface {
	WaitN(ctx context.Context, n int) error
	Limit() gcra.Limit
}

// NewReader returns a reader of r that delivers bytes as fast as the limit
// permits: a Read reads what r has, at most a burst, and returns it when it has
// been waited for. So N bytes take (N − burst)/rate from a full bucket, and one
// Read costs one Wait: a burst of 1 gives a byte at a time, one of the size of
// the buffer, or more, a buffer.
//
// It reads from r by Read alone, so io.Copy from it is paced whatever it copies
// to, and only in its own goroutine: a Read that blocks in r is not ended by
// the context. Once the context is done nothing more is read. A wait that fails
// gives its error, and that of r comes after the bytes that it came with. Bytes
// that were read and could not be paid for are not lost: they are kept, and
// the next Read waits for them again.
//
// The limit may change meanwhile. With a burst of 0 a Read fails with
// gcra.ErrExceedsBurst and reads nothing. Readers may share a limiter, but one
// reader is for one goroutine. A Read does not allocate, but for the timer of a
// Wait that sleeps, and to keep bytes.
func NewReader(ctx context.Context, r io.Reader, lim Waiter) io.Reader {
	return &reader{ctx: ctx, r: r, lim: lim}
}

type reader struct {
	ctx context.Context
	r   io.Reader
	lim Waiter

	kept []byte // read from r, but not paid for
	err  error  // of r, to be returned after what is kept
}

func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(r.kept) > 0 {
		return r.again(p)
	}
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	burst := r.lim.Limit().Capacity()
	if burst == 0 {
		return 0, errNoBurst
	}
	n, err := r.r.Read(p[:min(len(p), burst)])
	if n <= 0 {
		return n, err
	}
	paid, failed := waitUpTo(r.ctx, r.lim, n)
	if paid == n {
		return n, err
	}
	r.kept, r.err = bytes.Clone(p[paid:n]), err
	return paid, failed
}

// again returns what was kept.
func (r *reader) again(p []byte) (int, error) {
	paid, err := waitUpTo(r.ctx, r.lim, min(len(p), len(r.kept)))
	copy(p, r.kept[:paid])
	if r.kept = r.kept[paid:]; len(r.kept) == 0 {
		r.kept = nil
		err, r.err = r.err, nil
	}
	return paid, err
}

// NewWriter returns a writer to w that sends bytes as fast as the limit
// permits: a Write is split into pieces of at most a burst, and each is waited
// for before it is written. So N bytes take (N − burst)/rate from a full
// bucket, and a w for which each Write is a message gets no longer ones than
// the burst.
//
// If a wait or w fails, Write returns the error and how many bytes were
// written before; a piece that w failed to write has used its tokens. The limit
// may change meanwhile. With a burst of 0 a Write fails with
// gcra.ErrExceedsBurst. Writers may share a limiter, and one writer is as safe
// for concurrent use as w, except that pieces of two Writes may alternate. A
// Write does not allocate, but for the timer of a Wait that sleeps.
func NewWriter(ctx context.Context, w io.Writer, lim Waiter) io.Writer {
	return &writer{ctx, w, lim}
}

type writer struct {
	ctx context.Context
	w   io.Writer
	lim Waiter
}

func (w *writer) Write(p []byte) (n int, err error) {
	for {
		// An empty Write goes through as well: w may know what it means.
		paid, err := waitUpTo(w.ctx, w.lim, len(p)-n)
		if err != nil {
			return n, err
		}
		m, err := w.w.Write(p[n : n+paid])
		n += m
		if err == nil && m != paid {
			err = io.ErrShortWrite
		}
		if err != nil || n == len(p) {
			return n, err
		}
	}
}

var errNoBurst = fmt.Errorf("weir: no bytes can pass under a limit without a burst: %w", gcra.ErrExceedsBurst)

// waitUpTo waits for n tokens, or for as many as the burst permits, and returns
// how many those were: none only with an error, if n is not 0.
func waitUpTo(ctx context.Context, lim Waiter, n int) (paid int, err error) {
	for most := n; ; most = paid / 2 {
		// The limit is read each time: it may be a smaller one by now, or be
		// by the time of the wait. A waiter may also accept less than its
		// limit says, as a joint of one limiter twice does, so that to read
		// the limit again is not enough to get to an end.
		paid = min(most, lim.Limit().Capacity())
		if paid == 0 && n > 0 {
			return 0, errNoBurst
		}
		err = lim.WaitN(ctx, paid)
		switch {
		case err == nil:
			return paid, nil
		case paid <= 1 || !errors.Is(err, gcra.ErrExceedsBurst):
			return 0, err
		}
	}
}
