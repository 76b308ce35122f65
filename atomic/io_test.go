package atomic_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

var (
	_ gatomic.Waiter = (*gatomic.Limiter)(nil)
	_ gatomic.Waiter = shard.View[string]{}
)

// text returns n bytes, each different from those near it.
func text(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

// only hides all methods but Read and Write, so that io.Copy has to use them.
type only struct {
	io.Reader
	io.Writer
}

// A copying paces the bytes of src on the way to dst.
type copying struct {
	name string
	copy func(ctx context.Context, dst io.Writer, src io.Reader, lim gatomic.Waiter) (int64, error)
}

var copyings = []copying{
	{"Reader", func(ctx context.Context, dst io.Writer, src io.Reader, lim gatomic.Waiter) (int64, error) {
		return io.Copy(dst, gatomic.NewReader(ctx, src, lim))
	}},
	{"Writer", func(ctx context.Context, dst io.Writer, src io.Reader, lim gatomic.Waiter) (int64, error) {
		return io.Copy(gatomic.NewWriter(ctx, dst, lim), src)
	}},
}

// A copy takes (bytes − burst)/rate, to the nanosecond, whatever the pieces.
func TestCopyTakesItsTime(t *testing.T) {
	for _, row := range []struct {
		limit gcra.Limit
		bytes int
		want  time.Duration
		why   string
	}{
		{gcra.PerSecond(1000).Burst(100), 0, 0, "nothing"},
		{gcra.PerSecond(1000).Burst(100), 100, 0, "the burst goes at once"},
		{gcra.PerSecond(1000).Burst(100), 101, time.Millisecond, "one byte more waits for its token"},
		{gcra.PerSecond(1000).Burst(100), 1250, 1150 * time.Millisecond, "pieces of a burst and a rest"},
		{gcra.PerSecond(1000), 50, 49 * time.Millisecond, "burst 1: a byte at a time"},
		{gcra.PerSecond(1000).Burst(1 << 20), 100_000, 0, "a burst above all"},
		{gcra.PerSecond(10_000_000).Burst(1 << 16), 2_000_000, (2_000_000 - 1<<16) * 100, "2 MB at 10 MB/s, in the pieces of io.Copy"},
		{gcra.PerSecond(3).Burst(2), 12, 3333333334, "thirds of a second, rounded up once"},
		{gcra.PerSecond(1000).Burst(100).Start(0), 100, 100 * time.Millisecond, "an empty bucket has no burst to give"},
		{gcra.PerSecond(1000).Burst(100).InSteps(100 * time.Millisecond), 250, 200 * time.Millisecond, "lumps of 100 bytes"},
		{gcra.Unlimited(), 100_000, 0, "no limit"},
	} {
		for _, c := range copyings {
			for _, src := range []struct {
				name string
				make func([]byte) io.Reader
			}{
				{"bytes.Reader", func(b []byte) io.Reader { return bytes.NewReader(b) }}, // an io.WriterTo
				{"bare", func(b []byte) io.Reader { return only{Reader: bytes.NewReader(b)} }},
				{"halves", func(b []byte) io.Reader { return iotest.HalfReader(bytes.NewReader(b)) }},
				{"data with EOF", func(b []byte) io.Reader { return iotest.DataErrReader(bytes.NewReader(b)) }},
			} {
				synctest.Test(t, func(t *testing.T) {
					for _, lim := range []func() gatomic.Waiter{
						func() gatomic.Waiter { return gatomic.NewLimiter(row.limit) },
						func() gatomic.Waiter { return shard.New[int](row.limit).For(1) },
					} {
						var dst bytes.Buffer // an io.ReaderFrom
						start := time.Now()
						n, err := c.copy(t.Context(), &dst, src.make(text(row.bytes)), lim())
						if n != int64(row.bytes) || err != nil || !bytes.Equal(dst.Bytes(), text(row.bytes)) {
							t.Errorf("%s, %v from %s: copied %d of %d bytes, err %v", c.name, row.limit, src.name, n, row.bytes, err)
						}
						if got := time.Since(start); got != row.want {
							t.Errorf("%s, %v from %s: %d bytes took %v, want %v: %s", c.name, row.limit, src.name, row.bytes, got, row.want, row.why)
						}
					}
				})
			}
		}
	}
}

// A windows checks that what passes it keeps to the limit in every window.
type windows struct {
	t     *testing.T
	limit gcra.Limit
	at    []time.Time
	n     []int
}

func (w *windows) Write(p []byte) (int, error) {
	w.at, w.n = append(w.at, time.Now()), append(w.n, len(p))
	sum := 0
	for i := len(w.n) - 1; i >= 0; i-- {
		sum += w.n[i]
		if d := time.Since(w.at[i]); sum > w.limit.Within(d) {
			w.t.Fatalf("%d bytes passed within %v, want at most %d", sum, d, w.limit.Within(d))
		}
	}
	return len(p), nil
}

// In no window do more than burst + rate·w bytes come out, even where their
// source stalls.
func TestCopyKeepsTheWindow(t *testing.T) {
	limit := gcra.PerSecond(1000).Burst(64)
	for _, c := range copyings {
		synctest.Test(t, func(t *testing.T) {
			src, in := io.Pipe()
			go func() {
				for i := range 60 {
					in.Write(text(i * 3))
					time.Sleep(time.Duration(i%7*20) * time.Millisecond)
				}
				in.Close()
			}()
			n, err := c.copy(t.Context(), &windows{t: t, limit: limit}, src, gatomic.NewLimiter(limit))
			if want := int64(3 * 60 * 59 / 2); n != want || err != nil {
				t.Errorf("%s: copied %d bytes, %v; want %d", c.name, n, err, want)
			}
		})
	}
}

// iotest's own law of readers, for a paced one.
func TestReaderIsAReader(t *testing.T) {
	content := text(3000)
	for _, limit := range []gcra.Limit{gcra.PerSecond(1000), gcra.PerSecond(1000).Burst(700), gcra.Unlimited()} {
		synctest.Test(t, func(t *testing.T) {
			r := gatomic.NewReader(t.Context(), iotest.DataErrReader(bytes.NewReader(content)), gatomic.NewLimiter(limit))
			if err := iotest.TestReader(r, content); err != nil {
				t.Errorf("%v: %v", limit, err)
			}
		})
	}
}

// shrinking lowers its limit after each of its first readings, as a SetLimit
// does that comes between the reading and the wait.
type shrinking struct {
	*gatomic.Limiter
	bursts []int
}

func (s *shrinking) Limit() gcra.Limit {
	l := s.Limiter.Limit()
	if len(s.bursts) > 0 {
		s.SetLimit(l.Burst(s.bursts[0]))
		s.bursts = s.bursts[1:]
	}
	return l
}

// meager accepts less than the burst that its limit promises.
type meager struct {
	*gatomic.Limiter
	most int
}

func (m meager) WaitN(ctx context.Context, n int) error {
	if n > m.most {
		return gcra.ErrExceedsBurst
	}
	return m.Limiter.WaitN(ctx, n)
}

func TestCopyWhileTheLimitChanges(t *testing.T) {
	limit := gcra.PerSecond(1000).Burst(100)
	for _, c := range copyings {
		for _, row := range []struct {
			lim  func() gatomic.Waiter
			want time.Duration
			why  string
		}{
			{func() gatomic.Waiter {
				return &shrinking{gatomic.NewLimiter(limit), []int{70, 10, 3, 1}}
			}, 299 * time.Millisecond, "the burst falls to 1 before anything passes, and the balance with it"},
			{func() gatomic.Waiter { return meager{gatomic.NewLimiter(limit), 50} },
				200 * time.Millisecond, "less is accepted than the limit says"},
		} {
			synctest.Test(t, func(t *testing.T) {
				var dst bytes.Buffer
				start := time.Now()
				n, err := c.copy(t.Context(), &dst, only{Reader: bytes.NewReader(text(300))}, row.lim())
				if n != 300 || err != nil || !bytes.Equal(dst.Bytes(), text(300)) {
					t.Errorf("%s: copied %d bytes, %v: %s", c.name, n, err, row.why)
				}
				if got := time.Since(start); got != row.want {
					t.Errorf("%s: took %v, want %v: %s", c.name, got, row.want, row.why)
				}
			})
		}
	}
}

// A limit that changes while a copy sleeps holds from the next piece on.
func TestCopyAfterSetLimit(t *testing.T) {
	for _, c := range copyings {
		synctest.Test(t, func(t *testing.T) {
			l := gatomic.NewLimiter(gcra.PerSecond(1000).Burst(100))
			start := time.Now()
			time.AfterFunc(150*time.Millisecond, func() { l.SetLimit(gcra.PerSecond(100).Burst(10)) })
			n, err := c.copy(t.Context(), io.Discard, only{Reader: bytes.NewReader(text(400))}, l)
			// 100 at once, 100 after 100 ms, 100 booked then for 200 ms. Of
			// these 50 are owed when the limit changes, at 150 ms. The bucket
			// is then in debt by them, and from there 150 come at 100/s.
			if want := 1650 * time.Millisecond; time.Since(start) != want || n != 400 || err != nil {
				t.Errorf("%s: %d bytes, %v, took %v, want %v", c.name, n, err, time.Since(start), want)
			}
		})
	}
}

// How a copy of 1000 bytes at 1000/s with a burst of 100 ends early.
func TestCopyFails(t *testing.T) {
	broken := errors.New("broken")
	limit := gcra.PerSecond(1000).Burst(100)
	whole := func() io.Reader { return only{Reader: bytes.NewReader(text(1000))} }
	part := func() io.Reader { return io.MultiReader(bytes.NewReader(text(150)), iotest.ErrReader(broken)) }
	for _, row := range []struct {
		limit   gcra.Limit
		maxWait time.Duration
		timeout time.Duration
		src     func() io.Reader
		dst     failing
		n       int64
		after   time.Duration
		want    error
		why     string
	}{
		{gcra.Limit{}, gcra.Never, time.Hour, whole, failing{}, 0, 0, gcra.ErrExceedsBurst, "a burst of 0"},
		{limit, gcra.Never, 250 * time.Millisecond, whole, failing{}, 300, 200 * time.Millisecond, context.DeadlineExceeded,
			"the fourth piece is due after the deadline, and nobody waits for it"},
		{limit, 99 * time.Millisecond, time.Hour, whole, failing{}, 100, 0, gcra.ErrLimited, "a piece is 100 ms away"},
		{gcra.PerDay(0).Burst(100), gcra.Never, time.Hour, whole, failing{}, 100, 0, gcra.ErrLimited, "an allowance is used up"},
		{limit, gcra.Never, time.Hour, part, failing{}, 150, 50 * time.Millisecond, broken, "the source fails"},
		{limit, gcra.Never, time.Hour, whole, failing{broken, 3, 0}, 207, 200 * time.Millisecond, broken, "the third piece is written in part"},
		{limit, gcra.Never, time.Hour, whole, failing{nil, 3, 0}, 207, 200 * time.Millisecond, io.ErrShortWrite, "and the writer does not say why"},
		{limit, gcra.Never, time.Hour, whole, failing{}, 1000, 900 * time.Millisecond, nil, "nothing fails"},
	} {
		for _, c := range copyings {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), row.timeout)
				defer cancel()
				dst := row.dst
				start := time.Now()
				n, err := c.copy(ctx, &dst, row.src(), gatomic.NewLimiter(row.limit, gatomic.WithMaxWait(row.maxWait)))
				if n != row.n || !errors.Is(err, row.want) || time.Since(start) != row.after {
					t.Errorf("%s: %d bytes after %v, %v; want %d after %v, %v: %s",
						c.name, n, time.Since(start), err, row.n, row.after, row.want, row.why)
				}
			})
		}
	}
}

// failing takes seven bytes of one of its Writes, and the others whole.
type failing struct {
	err    error
	at     int // which Write fails; 0 for none
	writes int
}

func (f *failing) Write(p []byte) (int, error) {
	if f.writes++; f.writes == f.at {
		return 7, f.err
	}
	return len(p), nil
}

func TestCopyEndsWithItsContext(t *testing.T) {
	for _, c := range copyings {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			l := gatomic.NewLimiter(gcra.PerSecond(1000).Burst(100))
			time.AfterFunc(250*time.Millisecond, cancel)
			start := time.Now()
			n, err := c.copy(ctx, io.Discard, only{Reader: bytes.NewReader(text(1000))}, l)
			if n != 300 || err != context.Canceled || time.Since(start) != 250*time.Millisecond {
				t.Errorf("%s: %d bytes after %v, %v; want 300 after 250 ms and context.Canceled", c.name, n, time.Since(start), err)
			}
			if got := l.Peek(0).Remaining(); got != 50 {
				t.Errorf("%s: %d tokens are left, want 50: the piece that did not pass is given back", c.name, got)
			}
		})
	}
}

// What was read and not paid for comes out of the next Read that can pay, once,
// with the source's error after it.
func TestReaderKeepsWhatItCouldNotPay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := gatomic.NewLimiter(gcra.PerSecond(1000).Burst(100), gatomic.WithMaxWait(0))
		src := &counting{Reader: iotest.DataErrReader(bytes.NewReader(text(190)))}
		r := gatomic.NewReader(t.Context(), src, l)
		p := make([]byte, 1000)
		for i, row := range []struct {
			sleep time.Duration
			size  int
			from  int // of the text
			n     int
			want  error
			reads int
			why   string
		}{
			{0, 1000, 0, 100, nil, 1, "a burst"},
			{0, 1000, 0, 0, gcra.ErrLimited, 2, "the rest was read, but cannot be paid"},
			{0, 1000, 0, 0, gcra.ErrLimited, 2, "nor now, and nothing more is read"},
			{0, 0, 0, 0, nil, 2, "there is no room"},
			{60 * time.Millisecond, 50, 100, 50, nil, 2, "half a burst is asked, and paid"},
			{0, 50, 0, 0, gcra.ErrLimited, 2, "10 tokens do not pay for 40 bytes"},
			{30 * time.Millisecond, 50, 150, 40, io.EOF, 2, "the rest of it, and the end that it came with"},
			{time.Hour, 1000, 0, 0, io.EOF, 3, "nothing is left"},
		} {
			time.Sleep(row.sleep)
			clear(p)
			n, err := r.Read(p[:row.size])
			if n != row.n || !errors.Is(err, row.want) || src.reads != row.reads {
				t.Errorf("read %d: %d bytes, %v, %d reads of the source; want %d, %v, %d: %s",
					i+1, n, err, src.reads, row.n, row.want, row.reads, row.why)
			}
			if !bytes.Equal(p[:n], text(190)[row.from:row.from+n]) {
				t.Errorf("read %d: the bytes are not those that follow: %s", i+1, row.why)
			}
		}
	})
}

// counting counts the Reads.
type counting struct {
	io.Reader
	reads int
}

func (c *counting) Read(p []byte) (int, error) {
	c.reads++
	return c.Reader.Read(p)
}

// Nothing is read that could not be delivered, and nothing passes for nothing.
func TestIOWithoutBytes(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	one := gatomic.NewLimiter(gcra.PerHour(1))
	for _, row := range []struct {
		ctx  context.Context
		lim  gatomic.Waiter
		size int
		want error
		why  string
	}{
		{done, one, 10, context.Canceled, "a context that is done"},
		{t.Context(), gatomic.NewLimiter(gcra.Limit{}), 10, gcra.ErrExceedsBurst, "a burst of 0"},
		{t.Context(), one, 0, nil, "an empty slice"},
	} {
		src := &counting{Reader: bytes.NewReader(text(10))}
		n, err := gatomic.NewReader(row.ctx, src, row.lim).Read(make([]byte, row.size))
		if n != 0 || !errors.Is(err, row.want) || src.reads != 0 {
			t.Errorf("Read: %d, %v after %d reads: %s", n, err, src.reads, row.why)
		}
		var dst countWrites
		n, err = gatomic.NewWriter(row.ctx, &dst, row.lim).Write(make([]byte, row.size))
		if n != 0 || !errors.Is(err, row.want) || (dst == 1) != (row.want == nil) {
			t.Errorf("Write: %d, %v after %d writes: %s", n, err, dst, row.why)
		}
	}
	if got := one.Peek(0).Remaining(); got != 1 {
		t.Errorf("%d tokens are left, want 1", got)
	}
}

type countWrites int

func (c *countWrites) Write(p []byte) (int, error) {
	*c++
	return len(p), nil
}

// A waiter that accepts nothing, although its limit has a burst, is asked a few
// times and has the last word.
func TestIOEndsWithAStubbornWaiter(t *testing.T) {
	lim := meager{gatomic.NewLimiter(gcra.PerSecond(1).Burst(1000)), -1}
	for _, size := range []int{0, 1, 7, 1000} {
		if n, err := gatomic.NewWriter(t.Context(), io.Discard, lim).Write(make([]byte, size)); n != 0 || err != gcra.ErrExceedsBurst {
			t.Errorf("Write of %d bytes: %d, %v", size, n, err)
		}
	}
	r := gatomic.NewReader(t.Context(), endless{}, lim)
	for range 2 {
		if n, err := r.Read(make([]byte, 10)); n != 0 || err != gcra.ErrExceedsBurst {
			t.Errorf("Read: %d, %v", n, err)
		}
	}
}

// Readers and writers of one limiter share its rate.
func TestCopiesShareALimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := gcra.PerSecond(1000).Burst(10)
		l, all := gatomic.NewLimiter(limit), make(chan int64)
		start := time.Now()
		for i := range 8 {
			go func() {
				n, _ := copyings[i%2].copy(t.Context(), io.Discard, only{Reader: bytes.NewReader(text(500))}, l)
				all <- n
			}()
		}
		sum := int64(0)
		for range 8 {
			sum += <-all
		}
		if want := 3990 * time.Millisecond; sum != 4000 || time.Since(start) != want {
			t.Errorf("%d bytes took %v, want 4000 in %v", sum, time.Since(start), want)
		}
	})
}

func TestIODoesNotAllocate(t *testing.T) {
	plenty := func() *gatomic.Limiter { return gatomic.NewLimiter(gcra.PerSecond(1000).Burst(1 << 30)) }
	p := text(4096)
	for _, row := range []struct {
		lim  gatomic.Waiter
		read bool
		why  string
	}{
		{plenty(), true, "a burst that is never used up"},
		{gatomic.NewLimiter(gcra.Unlimited()), true, "no limit"},
		{meager{plenty(), 3000}, false, "two pieces, each after a wait that was refused: a Read would keep one"},
	} {
		w := gatomic.NewWriter(t.Context(), io.Discard, row.lim)
		if n := testing.AllocsPerRun(100, func() { w.Write(p) }); n != 0 {
			t.Errorf("Write allocates %v times: %s", n, row.why)
		}
		if r := gatomic.NewReader(t.Context(), endless{}, row.lim); row.read {
			if n := testing.AllocsPerRun(100, func() { r.Read(p) }); n != 0 {
				t.Errorf("Read allocates %v times: %s", n, row.why)
			}
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
