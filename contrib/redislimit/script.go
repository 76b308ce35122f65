package redislimit

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed decide.lua
var decide string

// prelude reads the time: Redis' own, in µs since 2025.
const prelude = `local t = redis.call('TIME')
local now, forever = (t[1] - 1735689600) * 1000000 + t[2], false
`

// A script is a Lua text, and the name under which a server keeps it.
type script struct{ text, sha any }

func newScript(prelude string) *script {
	text := prelude + decide
	sum := sha1.Sum([]byte(text))
	return &script{text, hex.EncodeToString(sum[:])}
}

// A processor is what the clients of go-redis have besides Scripter: they send a
// command as it is.
type processor interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// A command is sent once. Others go-redis sends again when an answer fails to
// come, although the server may have done what they say; then a request would
// be charged twice. (Redirections are followed: who redirects has done nothing.)
type command struct{ *redis.Cmd }

// NoRetry reports that the command is not to be sent again.
func (command) NoRetry() bool { return true }

// Clone keeps that in a copy.
func (c command) Clone() redis.Cmder {
	if inner, ok := c.Cmd.Clone().(*redis.Cmd); ok {
		return command{inner}
	}
	return c
}

// usable returns what sends commands through the client, in at most that time.
func usable(client redis.Scripter, timeout time.Duration) (processor, error) {
	const hint = "set ContextTimeoutEnabled in its options: without it no time-out but the client's own ends a call"
	switch c := client.(type) {
	case nil:
		return nil, errors.New("redislimit: the client is nil")
	case *redis.Client:
		// It shares the pool, and only waits less long on its connections.
		return c.WithTimeout(timeout), nil
	case *redis.ClusterClient:
		if !c.Options().ContextTimeoutEnabled {
			return nil, errors.New("redislimit: the ClusterClient: " + hint)
		}
		return c, nil
	case *redis.Ring:
		if !c.Options().ContextTimeoutEnabled {
			return nil, errors.New("redislimit: the Ring: " + hint)
		}
		return c, nil
	case redis.Pipeliner:
		return nil, fmt.Errorf("redislimit: a %T answers only when it is executed: use the client that it is of", client)
	case processor:
		return c, nil
	}
	return nil, fmt.Errorf("redislimit: a %T has no Process, by which a command can be sent without being sent again", client)
}

// eval runs the script: one round trip, and once in a server's life two. The first
// arguments are left free for the name of the command and what it is to run.
func (s *script) eval(ctx context.Context, on processor, argv []any) (any, error) {
	argv[0], argv[1] = "evalsha", s.sha
	got, err := send(ctx, on, argv)
	if err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") {
		argv[0], argv[1] = "eval", s.text
		got, err = send(ctx, on, argv)
	}
	return got, err
}

func send(ctx context.Context, on processor, argv []any) (any, error) {
	cmd := command{redis.NewCmd(ctx, argv...)}
	if err := on.Process(ctx, cmd); err != nil {
		return nil, err
	}
	return cmd.Val(), nil
}

// An answer is what the script returned.
type answer struct {
	ok                  bool
	now, granted, delay int64
	keys                []found
	one                 [1]found // what keys is of mostly
}

// found is what it returned of one key.
type found struct {
	since   int64
	missing span
	off     uint64
	from    span // v of a booking
	end     span
	stamp   string
}

const (
	head   = 4 // of an answer
	perKey = 4
	booked = 5

	argsPerKey = 12 // at most
)

func parseAnswer(got []any, keys int) (*answer, error) {
	if keys == 0 && len(got) == 2 { // to "time"
		now, _ := got[1].(int64)
		return &answer{ok: true, now: now}, nil
	}
	short := len(got) == head+keys*perKey
	if !short && len(got) != head+keys*(perKey+booked) {
		return nil, fmt.Errorf("redislimit: an answer of %d parts", len(got))
	}
	var bad error
	num := func(i int) int64 {
		n, ok := got[i].(int64)
		if !ok || n < 0 {
			bad = fmt.Errorf("redislimit: part %d of the answer is %v", i+1, got[i])
		}
		return n
	}
	a := &answer{ok: num(0) == 1, now: num(1), granted: num(2), delay: num(3)}
	if a.keys = a.one[:]; keys > 1 {
		a.keys = make([]found, keys)
	}
	pair := func(i int) span { return span{uint64(num(i)), uint64(num(i + 1))} }
	for i := range a.keys {
		at := head + i*perKey
		a.keys[i] = found{since: num(at), missing: pair(at + 1), off: uint64(num(at + 3))}
		if short {
			continue
		}
		at = head + keys*perKey + i*booked
		a.keys[i].from, a.keys[i].end = pair(at), pair(at+2)
		stamp, ok := got[at+4].(string)
		if !ok {
			return nil, fmt.Errorf("redislimit: the stamp %v in the answer", got[at+4])
		}
		a.keys[i].stamp = stamp
	}
	return a, bad
}

// newStamp names a bucket that a call may make.
func newStamp() string { return strconv.FormatUint(rand.Uint64(), 36) }
