package main

import (
	"strings"
	"testing"
	"time"
)

// TestSetClock: the clock stands where it is set, to the µs, and what expires does
// so by it.
func TestSetClock(t *testing.T) {
	for _, kind := range []string{clockMini, clockFaked, clockAuto} {
		t.Run(kind, func(t *testing.T) {
			c, err := openClock(kind, start)
			if err != nil && kind == clockFaked {
				t.Skipf("no redis-server whose clock can be set: %v", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer c.end()
			ctx := t.Context()
			for _, us := range []int64{start, start + 1, start + 999_999, start + 3_123_457, start + 3_123_459} {
				if err := c.set(ctx, us); err != nil { // which asks for the time
					t.Error(err)
				}
			}
			if err := c.client.Set(ctx, "k", "v", 2*time.Second).Err(); err != nil {
				t.Fatal(err)
			}
			for _, row := range []struct {
				after int64
				want  int64
			}{{1_999_000, 1}, {2_001_000, 0}} {
				if err := c.set(ctx, start+3_123_459+row.after); err != nil {
					t.Error(err)
				}
				if n, err := c.client.Exists(ctx, "k").Result(); err != nil || n != row.want {
					t.Errorf("after %d µs: %d keys, error %v, want %d", row.after, n, err, row.want)
				}
			}
		})
	}
}

func TestClockRejects(t *testing.T) {
	if _, err := openClock("sun", start); err == nil || !strings.Contains(err.Error(), "sun") {
		t.Errorf("error %v", err)
	}
}
