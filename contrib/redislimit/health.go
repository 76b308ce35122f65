package redislimit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	// ErrUnavailable reports that Redis did not answer, or could not decide. The
	// tokens of that request may have been charged or not: see Unavailable in the
	// package doc.
	ErrUnavailable = errors.New("redislimit: Redis does not answer")
	// ErrValue reports a key that holds what no limiter wrote. It is left alone.
	ErrValue = errors.New("redislimit: the key holds what no limiter wrote")
)

// A State is what a Limiter knows of Redis.
type State struct {
	Up  bool
	Err error // why not
}

// A monitor knows which servers answer. Clients of several servers are watched by
// ranges of hash slots: when a node of a cluster fails, the keys of the others go on.
type monitor struct {
	parts  []health
	notify func(State)
	mu     sync.Mutex
	down   int // parts
}

const ranges = 64 // of 256 slots each

func (m *monitor) init(single bool, notify func(State)) {
	m.notify, m.parts = notify, make([]health, ranges)
	if single {
		m.parts = m.parts[:1]
	}
}

// of returns what is known of the server that has the key.
func (m *monitor) of(key string) *health {
	if len(m.parts) == 1 {
		return &m.parts[0]
	}
	return &m.parts[slotOf(key)/(16384/ranges)]
}

// changed counts a part that has gone down or come up, and tells of the first and
// of the last.
func (m *monitor) changed(down bool, err error) {
	m.mu.Lock()
	var tell bool
	if down {
		m.down++
		tell = m.down == 1
	} else {
		m.down--
		tell = m.down == 0
	}
	m.mu.Unlock()
	if tell && m.notify != nil {
		m.notify(State{Up: !down, Err: err})
	}
}

// health keeps callers from asking a server that does not answer: after a failure
// nobody asks until a back-off has passed, and then one caller does, whose question
// it is anyway.
type health struct {
	mu      sync.Mutex
	down    bool
	probing bool
	until   time.Time // the next question
	backOff time.Duration
	err     error
}

const (
	firstBackOff = 100 * time.Millisecond
	lastBackOff  = 2 * time.Second
)

// begin reports whether to ask: no error says so. Then end has to follow.
func (h *health) begin() (probe bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.down {
		return false, nil
	}
	if h.probing || time.Now().Before(h.until) {
		return false, fmt.Errorf("redislimit: not asked again yet: %w", h.err)
	}
	h.probing = true
	return true, nil
}

// end says what came of it: no error, one that is ErrUnavailable, or one that says
// nothing of the server.
func (h *health) end(m *monitor, probe bool, err error) {
	if err == nil && !probe {
		return
	}
	failed := errors.Is(err, ErrUnavailable)
	h.mu.Lock()
	was := h.down
	switch {
	case failed && (probe || !h.down):
		h.backOff = min(max(2*h.backOff, firstBackOff), lastBackOff)
		h.down, h.err, h.until = true, err, time.Now().Add(h.backOff)
	case probe && answered(err):
		h.down, h.backOff, h.err = false, 0, nil
	}
	if probe {
		h.probing = false
	}
	now := h.down
	h.mu.Unlock()
	switch {
	case now && !was:
		m.changed(true, err)
	case was && !now:
		m.changed(false, nil)
	}
}

// answered reports whether the server decided, or refused to for good.
func answered(err error) bool {
	var told redis.Error
	return err == nil || errors.As(err, &told) && !errors.Is(err, ErrUnavailable)
}

// temporary are the answers of a server that decides nothing at present.
var temporary = [...]string{"OOM ", "READONLY ", "LOADING ", "MASTERDOWN ", "CLUSTERDOWN ", "TRYAGAIN ", "BUSY ", "MISCONF ", "NOREPLICAS ", "ERR max number of clients"}

// ended returns the error of a context that is done, or will be as soon as its
// timer is run: a connection's deadline may be noticed before.
func ended(ctx context.Context) error {
	if end, ok := ctx.Deadline(); ok && ctx.Err() == nil && !time.Now().Before(end) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// explain turns an error of a call into what callers are told. Patient is false if
// the caller's context ended before the time was up that Redis has.
func explain(ctx context.Context, err error, patient bool) error {
	var told redis.Error
	switch {
	case errors.As(err, &told):
		text := verdict(told.Error())
		if strings.HasPrefix(text, "WEIRVALUE") || strings.HasPrefix(text, "WRONGTYPE") {
			return fmt.Errorf("%w (%w)", ErrValue, err)
		}
		for _, t := range temporary {
			if strings.HasPrefix(text, t) {
				return fmt.Errorf("%w: %w", ErrUnavailable, err)
			}
		}
		return fmt.Errorf("redislimit: %w", err)
	case !patient && ended(ctx) != nil:
		return fmt.Errorf("redislimit: asking Redis: %w", ended(ctx))
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// verdict is a command's error in a script, which servers before Redis 7 wrap:
//
//	ERR Error running script (call to f_…): @user_script:41: @user_script: 41: -OOM …
func verdict(text string) string {
	if !strings.HasPrefix(text, "ERR Error running script") {
		return text
	}
	_, inner, found := strings.Cut(text, ": -")
	if !found {
		return text
	}
	return inner
}
