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

// health keeps a limiter from asking a server that does not answer: after a
// failure nobody asks until a back-off has passed, and then one caller does, whose
// question it is anyway.
type health struct {
	mu      sync.Mutex
	down    bool
	probing bool
	until   time.Time // the next question
	backOff time.Duration
	notify  func(State)
	err     error
}

const (
	firstBackOff = 100 * time.Millisecond
	lastBackOff  = 2 * time.Second
)

// begin reports whether to ask. If it does, end has to follow.
func (h *health) begin() (probe bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.down {
		return false, nil
	}
	if h.probing || time.Now().Before(h.until) {
		return false, fmt.Errorf("%w: not asked again yet: %w", ErrUnavailable, h.err)
	}
	h.probing = true
	return true, nil
}

// end says what came of it: nil, an error that is ErrUnavailable, or one that
// says nothing of the server.
func (h *health) end(probe bool, err error) {
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
	now, notify := h.down, h.notify
	h.mu.Unlock()
	if now != was && notify != nil {
		state := State{Up: !now}
		if now {
			state.Err = err
		}
		notify(state)
	}
}

// answered reports whether the server decided, or refused to for good.
func answered(err error) bool {
	var told redis.Error
	return err == nil || errors.As(err, &told) && !errors.Is(err, ErrUnavailable)
}

// temporary are the answers of a server that decides nothing at present.
var temporary = [...]string{"OOM ", "READONLY ", "LOADING ", "MASTERDOWN ", "CLUSTERDOWN ", "TRYAGAIN ", "BUSY ", "MISCONF ", "NOREPLICAS ", "ERR max number of clients"}

// explain turns an error of a call into what callers are told. Patient is false if
// the caller's context ended before the time was up that Redis has.
func explain(ctx context.Context, err error, patient bool) error {
	var told redis.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &told):
		text := told.Error()
		if strings.HasPrefix(text, "WEIRVALUE") || strings.HasPrefix(text, "WRONGTYPE") {
			return fmt.Errorf("%w (%w)", ErrValue, err)
		}
		for _, t := range temporary {
			if strings.HasPrefix(text, t) {
				return fmt.Errorf("%w: %w", ErrUnavailable, err)
			}
		}
		return fmt.Errorf("redislimit: %w", err)
	case !patient && ctx.Err() != nil:
		return fmt.Errorf("redislimit: asking Redis: %w", ctx.Err())
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
