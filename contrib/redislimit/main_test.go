package redislimit_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

// TestMain ignores one goroutine of go-redis: it dials a server that is gone once a
// second, and notices at the next time only that its client is closed.
func TestMain(m *testing.M) {
	redis.SetLogger(silent{}) // the tests break connections all the time
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
