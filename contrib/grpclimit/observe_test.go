package grpclimit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/contrib/grpclimit"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// The observer of every interceptor is told once of each call or message that is
// asked about, with what came of it.
func TestObserver(t *testing.T) {
	open := grpclimit.WithError(func(context.Context, string, error) error { return nil })
	dry := grpclimit.WithDryRun(nil)
	cost := grpclimit.WithCost(func(context.Context, string, any) int { return -1 })
	skip := grpclimit.WithSkip(func(context.Context, string) bool { return true })
	for _, row := range []struct {
		opts    []grpclimit.Option
		key     error
		decide  func(int) (gcra.Decision, error)
		told    int
		verdict error
		served  bool
		err     error
		why     string
	}{
		{nil, nil, decided(0), 1, nil, true, nil, "granted"},
		{nil, nil, decided(5), 1, gcra.ErrLimited, false, nil, "refused"},
		{[]grpclimit.Option{cost}, nil, decided(0), 1, gcra.ErrCost, false, nil, "a negative cost"},
		{[]grpclimit.Option{dry}, nil, decided(5), 1, gcra.ErrLimited, true, nil, "a dry run"},
		{[]grpclimit.Option{dry}, nil, decided(0), 1, nil, true, nil, "which would grant"},
		{[]grpclimit.Option{dry}, errNobody, decided(0), 1, nil, true, errNobody, "and has no key"},
		{[]grpclimit.Option{dry}, nil, failed(errDown), 1, nil, true, errDown, "or no decision"},
		{nil, errNobody, decided(0), 1, nil, false, errNobody, "no key"},
		{nil, errEmpty, decided(0), 1, nil, false, grpclimit.ErrKey, "an empty one"},
		{nil, nil, failed(errDown), 1, nil, false, errDown, "no decision"},
		{[]grpclimit.Option{open}, nil, failed(errDown), 1, nil, true, errDown, "and passed all the same"},
		{nil, nil, failed(gcra.ErrLimited), 1, nil, false, gcra.ErrLimited, "refused by a Waiter"},
		{[]grpclimit.Option{skip}, nil, decided(5), 0, nil, false, nil, "nobody was asked"},
	} {
		var told int
		var verdict, err error
		var served bool
		row.opts = append(row.opts, grpclimit.WithObserver(func(_ context.Context, d gcra.Decision, s bool, e error) {
			told++
			verdict, served, err = d.Err(), s, e
		}))
		for kind, ask := range (answer{opts: row.opts, key: row.key, decide: row.decide}).kinds() {
			told, verdict, served, err = 0, nil, false, nil
			var passed bool
			ask(t.Context(), &passed)
			if told != row.told || verdict != row.verdict || served != row.served || !errors.Is(err, row.err) || (err == nil) != (row.err == nil) {
				t.Errorf("%s: told %d times of %v, served %v, %v: %s", kind, told, verdict, served, err, row.why)
			}
			if told > 0 && passed != served {
				t.Errorf("%s: told that served is %v, and passed is %v: %s", kind, served, passed, row.why)
			}
		}
	}
}

// What a Waiter says is told as it says it.
func TestObserverOfWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := shard.New[string](gcra.PerSecond(10), shard.WithMaxWait(time.Second))
		var told []string
		call := grpclimit.UnaryClient(grpclimit.Waiting(l), fixed, grpclimit.WithObserver(
			func(_ context.Context, _ gcra.Decision, served bool, err error) {
				wait := new(gatomic.WaitError)
				told = append(told, fmt.Sprint(served, err == nil, errors.As(err, &wait)))
			}))
		short, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
		defer cancel()
		for range 3 {
			call(short, "/m", nil, nil, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil })
		}
		if got, want := fmt.Sprint(told), "[true true false true true false false false true]"; got != want {
			t.Errorf("told %s, want %s: two get their slots, and the third's is beyond the deadline", got, want)
		}
	})
}
