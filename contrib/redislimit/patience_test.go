package redislimit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/contrib/redislimit"
)

// TestStarved: a call that gets no connection, since others keep them all, ends when
// its time-out is over or its caller's deadline, whatever context it is made with.
// The client itself would have it wait for an hour.
func TestStarved(t *testing.T) {
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: newServer(t).socket, PoolSize: 1, PoolTimeout: time.Hour, ReadTimeout: time.Hour, DialTimeout: patient})
	t.Cleanup(func() { client.Close() })
	cancelable, cancel := context.WithCancel(ctx)
	defer cancel()
	far, cancelFar := context.WithTimeout(ctx, time.Hour)
	defer cancelFar()
	near, cancelNear := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancelNear()
	for _, row := range []struct {
		name    string
		ctx     context.Context
		timeout time.Duration
		want    error
	}{
		{"background", ctx, 200 * time.Millisecond, redislimit.ErrUnavailable},
		{"cancelable", cancelable, 200 * time.Millisecond, redislimit.ErrUnavailable},
		{"far deadline", far, 200 * time.Millisecond, redislimit.ErrUnavailable},
		{"near deadline", near, time.Hour, context.DeadlineExceeded},
	} {
		t.Run(row.name, func(t *testing.T) {
			held := client.Conn()
			if err := held.Ping(ctx).Err(); err != nil {
				t.Fatal(err)
			}
			l := newLimiter(t, client, "1/m burst 1000000", redislimit.Closed(), redislimit.WithTimeout(row.timeout), redislimit.WithPrefix(row.name))
			d, err := l.Take(row.ctx, "k", 1)
			if !errors.Is(err, row.want) || d.OK() {
				t.Errorf("ok %v, error %v, want %v", d.OK(), err, row.want)
			}
			if err := held.Close(); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() bool {
				d, err := l.Take(ctx, "k", 1)
				return err == nil && d.OK()
			})
		})
	}
}
