package main

import (
	"context"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// limits are those that the table of wrong decisions has a column for.
var limits = []struct {
	text   string
	n      int
	period time.Duration
	burst  int
}{
	{"100/s burst 100", 100, time.Second, 100},
	{"3/s burst 9", 3, time.Second, 9},
	{"99/s burst 99", 99, time.Second, 99},
	{"7/m burst 5", 7, time.Minute, 5},
	{"6000/h burst 60", 6000, time.Hour, 60},
	{"1000000/s burst 1000", 1_000_000, time.Second, 1000},
}

// A tally is what came of one library's decisions under one limit.
type tally struct{ granted, refused, failed, of int }

func (t tally) wrong() int { return t.granted + t.refused }

// wrongly makes decisions at instants of whole µs, which the server in this process
// tells as its time, and compares each with the exact rational bucket that has
// granted what the library has: granted counts what was not there, refused what was.
// Half of the instants are those at which the tokens asked for are there by the
// exact bucket, or a µs before: what a client that waits for the right time hits.
func wrongly(s subject, n int, period time.Duration, burst, decisions int) (t tally, err error) {
	server, err := miniredis.Run()
	if err != nil {
		return t, err
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	server.SetTime(now)
	ask := s.make
	if s.asking != nil {
		ask = s.asking
	}
	take, err := ask(client, n, period, burst)
	if err != nil {
		return t, err
	}
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	// µs of a token, and what is missing, in µs.
	token := big.NewRat(int64(period/time.Microsecond), int64(n))
	full := new(big.Rat).Mul(token, big.NewRat(int64(burst), 1))
	missing := new(big.Rat)
	for i := range decisions {
		cost := 1 + rng.IntN(min(burst, 10))
		need := new(big.Rat).Mul(token, big.NewRat(int64(cost), 1))
		// So long until it is there.
		wait := new(big.Rat).Add(missing, need)
		wait.Sub(wait, full)
		us := int64(0)
		switch rng.IntN(6) {
		case 0, 1, 2:
			if wait.Sign() > 0 {
				up := new(big.Int).Add(wait.Num(), new(big.Int).Sub(wait.Denom(), big.NewInt(1)))
				us = up.Div(up, wait.Denom()).Int64() - int64(rng.IntN(2))
			}
		case 3:
			f, _ := need.Float64()
			us = rng.Int64N(int64(f)*2 + 2)
		}
		now = now.Add(time.Duration(us) * time.Microsecond)
		server.SetTime(now)
		if missing.Sub(missing, big.NewRat(us, 1)); missing.Sign() < 0 {
			missing.SetInt64(0)
		}
		after := new(big.Rat).Add(missing, need)
		there := after.Cmp(full) <= 0
		ok, err := take(context.Background(), "k", cost)
		t.of++
		switch {
		case err != nil:
			t.failed++
			if t.failed > 100 {
				return t, fmt.Errorf("%s, decision %d: %w", s.name, i, err)
			}
			continue
		case ok && !there:
			t.granted++
		case !ok && there:
			t.refused++
		}
		if ok {
			missing = after
		}
	}
	return t, nil
}

// wrongTable prints how many decisions of each library were wrong.
func wrongTable(w io.Writer, decisions int) error {
	fmt.Fprintf(w, "\nWrong decisions of %d under each limit, against the exact bucket at the server's microsecond\n(granted what was not there + refused what was):\n\n| |", decisions)
	for _, l := range limits {
		fmt.Fprintf(w, " %s |", l.text)
	}
	fmt.Fprint(w, "\n|---|")
	for range limits {
		fmt.Fprint(w, "--:|")
	}
	for _, s := range subjects {
		fmt.Fprintf(w, "\n| %s |", s.name)
		for _, l := range limits {
			t, err := wrongly(s, l.n, l.period, l.burst, decisions)
			if err != nil {
				return err
			}
			text := strconv.Itoa(t.wrong())
			if t.wrong() > 0 {
				text += fmt.Sprintf(" (%d + %d)", t.granted, t.refused)
			}
			if t.failed > 0 {
				text += fmt.Sprintf(", %d errors", t.failed)
			}
			fmt.Fprintf(w, " %s |", text)
		}
	}
	fmt.Fprintln(w)
	return nil
}
