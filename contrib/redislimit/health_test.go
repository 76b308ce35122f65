package redislimit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/contrib/redislimit"
)

// told is an error of Redis.
type told string

func (t told) Error() string { return string(t) }
func (told) RedisError()     {}

// TestExplain: which answers are those of a server that decides nothing at present,
// as servers say it today and as they did before Redis 7.
func TestExplain(t *testing.T) {
	const old = "ERR Error running script (call to f_2cd0a7): @user_script:41: @user_script: 41: "
	for _, row := range []struct {
		text string
		away bool
		why  string
	}{
		{"OOM command not allowed when used memory > 'maxmemory'. script: 2cd0a7, on @user_script:41.", true, "no memory"},
		{old + "-OOM command not allowed when used memory > 'maxmemory'.", true, "no memory, Redis 6"},
		{"READONLY You can't write against a read only replica.", true, "a replica"},
		{old + "-READONLY You can't write against a read only replica.", true, "a replica, Redis 6"},
		{old + "-MISCONF Redis is configured to save RDB snapshots", true, "a full disk, Redis 6"},
		{"LOADING Redis is loading the dataset in memory", true, "starting"},
		{"NOPERM this user has no permissions to run the 'evalsha' command", false, "not allowed, for good"},
		{old + "attempt to compare nil with number", false, "a mistake in the script"},
		{old + "-ERR unknown command OOM ", false, "no memory is something else"},
	} {
		if err := redislimit.Explain(told(row.text)); errors.Is(err, redislimit.ErrUnavailable) != row.away || err == nil {
			t.Errorf("%s: %v, want that it is away: %v", row.why, err, row.away)
		}
	}
	if err := redislimit.Explain(told("WRONGTYPE Operation")); !errors.Is(err, redislimit.ErrValue) {
		t.Errorf("WRONGTYPE: %v", err)
	}
}

// TestShortDeadline: the deadline of a caller, which is the connection's too, says
// nothing of the server, whichever of the two notices first.
func TestShortDeadline(t *testing.T) {
	p := newProxy(t, "unix", newServer(t).socket)
	client := redis.NewClient(&redis.Options{Addr: p.addr, ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	var heard states
	l := newLimiter(t, client, "10/h burst 10", redislimit.Open(), redislimit.WithNotify(heard.note), redislimit.WithTimeout(10*time.Second))
	joint, err := redislimit.Join(l.For("{k}1"), l.For("{k}2"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		p.delay.Store(0)
		if _, err := joint.Peek(ctx, 1); err != nil { // there is a connection, so that it is its deadline
			t.Fatal(err)
		}
		p.delay.Store(int64(10 * time.Second))
		short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
		ok := false
		if i%2 == 0 {
			d, e := l.Take(short, "k", 1)
			ok, err = d.OK(), e
		} else {
			d, e := joint.Take(short, 1)
			ok, err = d.OK(), e
		}
		if cancel(); ok || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, redislimit.ErrUnavailable) {
			t.Fatalf("try %d: ok %v, error %v, told %v", i, ok, err, heard.told())
		}
	}
	if got := heard.told(); len(got) > 0 {
		t.Errorf("told %v", got)
	}
}
