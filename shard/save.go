package shard

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
)

// Save writes the balances of all keys, for a Load after a restart. It anchors
// them to the wall clock, time.Now, because no other goes on meanwhile.
//
// Decisions may go on. A key that is there from beginning to end is written
// with its balance at some instant while Save ran; later charges, and keys
// that come while it runs, may be missing. So save when traffic has ended, or
// again and again, and accept that what was charged since is forgotten. Save
// to a new file and rename it, as the example does, or a crash while it writes
// leaves neither the old balances nor the new.
//
// A key takes its own bytes (an integer at most 10) and about 6 more; keys with
// full buckets are left out. Meanwhile it needs 8 bytes of memory, and the key,
// for each. Keys are strings, integers and arrays of bytes, of whatever name,
// or have MarshalBinary or MarshalText and the way back.
//
// It returns the error of w, or [ErrKey] if keys of type K cannot be saved: what
// it has written by then is nothing that Load would take.
func (l *Limiter[K]) Save(w io.Writer) error {
	c, err := newCodec[K]()
	if err != nil {
		return err
	}
	// First the cells and then the generation: so none is of a later one, and
	// those of earlier ones can be converted.
	type entry struct {
		key  K
		cell *cell
	}
	entries := make([]entry, 0, l.Len())
	for i := range l.bins {
		l.bins[i].cells.Range(func(key K, c *cell) bool {
			entries = append(entries, entry{key, c})
			return true
		})
	}
	// The wall clock after the limiter's own, and in Load before it. Whatever
	// passes between the two readings is down time that nobody is credited.
	now := l.core.Now()
	wall := time.Now().UnixNano()
	g := l.core.Current()
	since, past := l.anchor(g, g.At(now).Elapsed)
	at := gcra.At(g.Limit(), since)
	fresh := lacking(g.Fresh(), at)

	sum := crc32.New(castagnoli)
	out := bufio.NewWriterSize(io.MultiWriter(w, sum), 1<<15)
	b := append([]byte(magic), version)
	b = appendText(b, g.Limit().String())
	b = binary.BigEndian.AppendUint64(b, uint64(minus(wall, int64(past))))
	b = binary.AppendUvarint(b, uint64(since))
	b = binary.AppendUvarint(b, fresh)
	b = appendText(b, c.kind)
	var key []byte
	count := uint64(0)
	for _, e := range entries {
		tat, ok := e.cell.State()
		if !ok {
			continue // reads as a key without a cell
		}
		lacks := lacking(e.cell.gen.Forward(tat, g), at)
		if lacks == fresh {
			continue // and so does this
		}
		count++
		if key, err = c.encode(key[:0], e.key); err != nil {
			return err
		}
		b = append(binary.AppendUvarint(b, uint64(len(key))+1), key...)
		b = binary.AppendUvarint(b, lacks)
		if _, err := out.Write(b); err != nil {
			return fmt.Errorf("weir: save: %w", err)
		}
		b = b[:0]
	}
	b = binary.AppendUvarint(append(b, 0), count)
	out.Write(b)
	if err := out.Flush(); err != nil { // of any write before, too
		return fmt.Errorf("weir: save: %w", err)
	}
	if _, err := w.Write(sum.Sum(nil)); err != nil {
		return fmt.Errorf("weir: save: %w", err)
	}
	return nil
}

// anchor returns the reading at which a save says what keys lack, and how long
// ago it was that the limiter, had it never been loaded, would have read that.
// That is now and 0, unless its steps come at other times since.
func (l *Limiter[K]) anchor(g *gatomic.Generation, now time.Duration) (since, past time.Duration) {
	a := l.ahead.Load()
	if a == nil || a.gen != g {
		return now, 0
	}
	meant := max(now+min(a.by, gcra.Never-now), 0)
	since = min(now, meant)
	return since, meant - since
}

// An ahead says how much sooner than this limiter the one whose balances were
// loaded would have had its next step; negative if later. A key's steps come by
// this limiter's clock until the next save, which sets that right.
type ahead struct {
	gen *gatomic.Generation // under which that holds
	by  time.Duration
}

// lacking returns the ticks that a bucket lacks at the instant.
func lacking(tat int64, at gcra.Instant) uint64 { return uint64(max(tat-at.Tick, 0)) }

// minus is a − b, at most the ends of an int64.
func minus(a, b int64) int64 {
	switch d := a - b; {
	case b > 0 && d > a:
		return math.MinInt64
	case b < 0 && d < a:
		return math.MaxInt64
	default:
		return d
	}
}
