package httplimit

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// A network answers requests without one, and notes when they were sent.
type network struct {
	mu     sync.Mutex
	start  time.Time
	sent   []time.Duration
	answer func(n int, r *http.Request) (status int, h http.Header) // n is 0 for the first one
	idle   int
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.start.IsZero() {
		n.start = time.Now()
	}
	status, h := 200, http.Header{}
	if n.answer != nil {
		status, h = n.answer(len(n.sent), r)
	}
	n.sent = append(n.sent, time.Since(n.start))
	return &http.Response{StatusCode: status, Header: h, Body: http.NoBody, Request: r}, nil
}

func (n *network) CloseIdleConnections() { n.idle++ }

// refusing answers the first request by that status and header.
func refusing(status int, lines ...string) func(int, *http.Request) (int, http.Header) {
	h := http.Header{}
	for i := 0; i < len(lines); i += 2 {
		h.Add(lines[i], lines[i+1])
	}
	return func(n int, _ *http.Request) (int, http.Header) {
		if n == 0 {
			return status, h
		}
		return 200, http.Header{}
	}
}

// send sends a request within a bubble.
func send(t *testing.T, rt http.RoundTripper, ctx context.Context, url string) error {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := rt.RoundTrip(r)
	if err == nil {
		res.Body.Close()
	}
	return err
}

const here = "http://here.test/"

func TestPaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{}
		tr := NewTransport(shard.New[string](gcra.PerSecond(10).Burst(2)), Host)
		tr.Base = n
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				if err := send(t, tr, t.Context(), here); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		ms := time.Millisecond
		if want := []time.Duration{0, 0, 100 * ms, 200 * ms, 300 * ms, 400 * ms}; !slices.Equal(n.sent, want) {
			t.Errorf("sent at %v, want %v", n.sent, want)
		}
		// Another host has its own limit.
		if err := send(t, tr, t.Context(), "http://there.test/"); err != nil || n.sent[6] != 400*ms {
			t.Errorf("%v, at %v", err, n.sent[6])
		}
	})
}

// TestPauses holds all goroutines' requests for as long as one response said,
// and then paces them.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{answer: refusing(429, "Retry-After", "7")}
		tr := NewTransport(shard.New[string](gcra.PerSecond(10).Burst(2)), Host)
		tr.Base = n
		if err := send(t, tr, t.Context(), here); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if err := send(t, tr, t.Context(), here); err != nil {
					t.Error(err)
				}
			})
		}
		if err := send(t, tr, t.Context(), "http://there.test/"); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		ms := time.Millisecond
		want := []time.Duration{0, 0, 7 * s, 7 * s, 7*s + 100*ms, 7*s + 200*ms, 7*s + 300*ms}
		if !slices.Equal(n.sent, want) {
			t.Errorf("sent at %v, want %v", n.sent, want)
		}
		if held := tr.paused.held.Load(); held != 0 {
			t.Errorf("%d keys are still remembered", held)
		}
	})
}

// TestPausedWhileWaiting: who waits for a slot when a pause begins is held too,
// and the rate is kept at its end.
func TestPausedWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{answer: refusing(503, "Retry-After", "5")}
		tr := NewTransport(shard.New[string](gcra.PerSecond(1)), Host)
		tr.Base = roundTripper(func(r *http.Request) (*http.Response, error) {
			res, err := n.RoundTrip(r)
			if res.StatusCode == 503 {
				time.Sleep(s / 2) // on its way back: the others have their slots
			}
			return res, err
		})
		var all sync.WaitGroup
		for range 4 { // at 0, and with slots at 1, 2 and 3 s
			all.Go(func() {
				if err := send(t, tr, t.Context(), here); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if want := []time.Duration{0, 11 * s / 2, 13 * s / 2, 15 * s / 2}; !slices.Equal(n.sent, want) {
			t.Errorf("sent at %v, want %v", n.sent, want)
		}
	})
}

// TestPauseGrows: a later and longer one holds those who sleep already, a shorter
// one changes nothing.
func TestPauseGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after := []string{"5", "9", "1"}
		n := &network{}
		begun := make(chan bool)
		n.answer = func(i int, r *http.Request) (int, http.Header) {
			if i == 3 {
				return 200, http.Header{}
			}
			return 429, http.Header{"Retry-After": after[i : i+1]}
		}
		slow := roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path != "/last" {
				<-begun // three are under way before the first one is refused
			}
			return n.RoundTrip(r)
		})
		tr := NewTransport[string](nil, Host)
		tr.Base = slow
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { send(t, tr, t.Context(), here) })
		}
		synctest.Wait()
		begun <- true
		synctest.Wait()
		all.Go(func() { send(t, tr, t.Context(), here+"last") })
		time.Sleep(s)
		begun <- true
		time.Sleep(s)
		begun <- true
		all.Wait()
		if want := []time.Duration{0, s, 2 * s, 10 * s}; !slices.Equal(n.sent, want) {
			t.Errorf("sent at %v, want %v", n.sent, want)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestWhatPauses, and for how long.
func TestWhatPauses(t *testing.T) {
	for _, row := range []struct {
		status int
		lines  []string
		max    time.Duration
		want   time.Duration
		why    string
	}{
		{429, []string{"Retry-After", "3"}, 0, 3 * s, "too many requests"},
		{503, []string{"Retry-After", "3"}, 0, 3 * s, "or unavailable"},
		{200, []string{"Retry-After", "3"}, 0, 0, "not if it was served"},
		{301, []string{"Retry-After", "3"}, 0, 0, "nor moved"},
		{500, []string{"Retry-After", "3"}, 0, 0, "nor failed"},
		{429, []string{"RateLimit", `"a";r=0;t=4`}, 0, 4 * s, "RateLimit"},
		{429, []string{"X-RateLimit-Reset", "5"}, 0, 5 * s, "a reset header"},
		{429, nil, 0, 0, "it does not say how long"},
		{429, []string{"Retry-After", "31536000"}, 0, 10 * time.Minute, "a year is capped"},
		{429, []string{"Retry-After", "99999999999999999999999999"}, 0, 10 * time.Minute, "and a number beyond all"},
		{429, []string{"Retry-After", "31536000"}, s, s, "as chosen"},
		{429, []string{"Retry-After", "31536000"}, math.MaxInt64, 365 * 24 * time.Hour, "or hardly"},
		{429, []string{"Retry-After", "3"}, -1, 0, "or not at all kept"},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := &network{answer: refusing(row.status, row.lines...)}
			tr := NewTransport[string](nil, Host)
			tr.Base, tr.MaxPause = n, row.max
			for range 2 {
				if err := send(t, tr, t.Context(), here); err != nil {
					t.Fatal(err)
				}
			}
			if n.sent[1] != row.want {
				t.Errorf("%d %q: paused for %v, want %v: %s", row.status, row.lines, n.sent[1], row.want, row.why)
			}
		})
	}
}

// TestNoRetry: every response is handed on as it is, with its body.
func TestNoRetry(t *testing.T) {
	sent := 0
	want := &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"1"}}, Body: io.NopCloser(strings.NewReader("no"))}
	tr := NewTransport[string](nil, Host)
	tr.Base = roundTripper(func(r *http.Request) (*http.Response, error) { sent++; return want, nil })
	r, _ := http.NewRequest("POST", here, strings.NewReader("body"))
	res, err := tr.RoundTrip(r)
	if res != want || err != nil || sent != 1 || text(t, res) != "no" {
		t.Errorf("sent %d times: %v, %v", sent, res, err)
	}
	broken := errors.New("broken")
	tr.Base = roundTripper(func(r *http.Request) (*http.Response, error) { return nil, broken })
	if _, err := tr.RoundTrip(r.WithContext(withTimeout(t, 0))); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a context that is done: %v", err)
	}
	tr.MaxPause, tr.paused = -1, pauses[string]{}
	if _, err := tr.RoundTrip(r); err != broken {
		t.Error(err)
	}
}

func withTimeout(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// A body notes whether it was closed.
type body struct {
	io.Reader
	closed bool
}

func (b *body) Close() error { b.closed = true; return nil }

// TestNotSent: requests whose turn cannot come are not sent, end at once, and
// have their bodies closed.
func TestNotSent(t *testing.T) {
	odd := errors.New("odd")
	key := func(k string, err error) func(*http.Request) (string, error) {
		return func(*http.Request) (string, error) { return k, err }
	}
	short := 500 * time.Millisecond
	for _, row := range []struct {
		limit  gcra.Limit
		key    func(*http.Request) (string, error)
		paused bool
		within time.Duration // the deadline
		cancel time.Duration
		after  time.Duration
		want   error
		why    string
	}{
		{gcra.PerSecond(1), Host, false, short, 0, 0, context.DeadlineExceeded, "the slot is beyond the deadline"},
		{gcra.PerSecond(1), Host, true, short, 0, 0, context.DeadlineExceeded, "the pause is"},
		{gcra.Unlimited(), Host, true, short, 0, 0, context.DeadlineExceeded, "without a limit too"},
		{gcra.PerSecond(1), Host, false, time.Hour, short, short, context.Canceled, "canceled while it waits for its slot"},
		{gcra.PerSecond(1), Host, true, time.Hour, short, short, context.Canceled, "or in a pause"},
		{gcra.Per(0, s), Host, false, time.Hour, 0, 0, gcra.ErrLimited, "it will never be its turn"},
		{gcra.Limit{}, Host, false, time.Hour, 0, 0, gcra.ErrExceedsBurst, "a limit of nothing"},
		{gcra.PerSecond(1), key("", nil), false, time.Hour, 0, 0, ErrKey, "no key"},
		{gcra.PerSecond(1), key("ann", odd), false, time.Hour, 0, 0, odd, "an error instead of a key"},
		{gcra.PerSecond(1), key("ann", odd), false, time.Hour, 0, 0, ErrKey, "which is no key"},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := &network{}
			if row.paused {
				n.answer = refusing(429, "Retry-After", "30")
			}
			hosts := shard.New[string](row.limit)
			tr := NewTransport(hosts, Host)
			tr.Base = n
			if row.limit != (gcra.Limit{}) {
				if err := send(t, tr, t.Context(), here); err != nil {
					t.Fatal(err)
				}
			}
			before := len(n.sent)
			tr.key = row.key
			ctx, cancel := context.WithTimeout(t.Context(), row.within)
			defer cancel()
			if row.cancel > 0 {
				time.AfterFunc(row.cancel, cancel)
			}
			b := &body{Reader: strings.NewReader("body")}
			r, err := http.NewRequestWithContext(ctx, "POST", here, b)
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			if res, err := tr.RoundTrip(r); res != nil || !errors.Is(err, row.want) {
				t.Errorf("%v, want %v: %s", err, row.want, row.why)
			}
			if took := time.Since(begun); took != row.after {
				t.Errorf("it took %v, want %v: %s", took, row.after, row.why)
			}
			if len(n.sent) != before || !b.closed {
				t.Errorf("%d sent, body closed: %v: %s", len(n.sent)-before, b.closed, row.why)
			}
		})
	}
}

func TestHost(t *testing.T) {
	for _, row := range []struct{ url, want, why string }{
		{"http://a.test/x", "a.test", "the host"},
		{"http://A.Test:80", "a.test", "in lower case, without the scheme's own port"},
		{"https://a.test:443", "a.test", "of https too"},
		{"http://a.test:443", "a.test:443", "which is another server for http"},
		{"https://a.test:80", "a.test:80", "and the other way round"},
		{"http://[::1]:80/", "[::1]", "an address"},
		{"http://[::80]/", "[::80]", "that ends as a port does"},
		{"/path", "", "no host"},
	} {
		u, err := url.Parse(row.url)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Host(&http.Request{URL: u, Host: "other.test"})
		if got != row.want || (err != nil) != (row.want == "") || err != nil && !errors.Is(err, ErrKey) {
			t.Errorf("%s: %q, %v, want %q: %s", row.url, got, err, row.want, row.why)
		}
	}
	if _, err := Host(&http.Request{}); !errors.Is(err, ErrKey) {
		t.Errorf("without a URL: %v", err)
	}
}

func TestCloseIdleConnections(t *testing.T) {
	n := &network{}
	tr := NewTransport[string](nil, Host)
	tr.Base = n
	(&http.Client{Transport: tr}).CloseIdleConnections()
	if n.idle != 1 {
		t.Error("it is not passed on")
	}
	tr.Base = roundTripper(nil)
	tr.CloseIdleConnections() // has none, and no harm is done
	tr.Base = nil
	tr.CloseIdleConnections()
	if tr.base() != http.DefaultTransport {
		t.Error("another default")
	}
}
