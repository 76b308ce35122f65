package shard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"time"

	"github.com/weir-go/weir/gcra"
)

// What Save writes and Load reads. Numbers are unsigned varints of
// encoding/binary, below 2^63; a text is its length and its bytes.
//
//	magic    "weir"
//	version  1 byte
//	limit    the text of the limit in force
//	wall     an instant in ns since 1970, 8 bytes, signed, the highest first
//	elapsed  what the limiter's own count of ns showed at that instant
//	fresh    the ticks that a key without a record lacked then
//	kind     a word for the type of keys
//	records  a key's length + 1, the key, the ticks that it lacked then
//	end      0
//	count    of records
//	sum      CRC-32C of all before, 4 bytes, the highest first
//
// What a key lacked is written rather than its TAT, because it takes fewer
// bytes. The elapsed time says where in a tick, or in a step, the instant lay:
// so the ticks of the time until Load are exactly those that the limiter would
// have counted.
//
// The sum is for accidents. CRC-32C finds any damage within 32 bits, and where
// processors compute it, it takes no time beside the map. Forgers it does not
// keep out; who can write the file can give any balance.
const (
	magic   = "weir"
	version = 1
	sumLen  = crc32.Size
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrFormat is returned by Load of a stream that it cannot read: cut short (it
// is io.ErrUnexpectedEOF too), damaged, of a newer version, or of keys of
// another kind.
var ErrFormat = errors.New("weir: unreadable balances")

func unreadable(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrFormat, fmt.Errorf(format, args...))
}

func cutShort(what string) error {
	return fmt.Errorf("%w: it ends where %s should be: %w", ErrFormat, what, io.ErrUnexpectedEOF)
}

// A stream is one taken apart.
type stream struct {
	limit   gcra.Limit
	wall    int64
	elapsed time.Duration
	fresh   uint64
	kind    string
	records []byte
}

// parseStream takes a stream apart and checks all but its keys. What it
// returns points into data. It believes no length beyond what is there.
func parseStream(data []byte) (*stream, error) {
	if n := min(len(data), len(magic)); string(data[:n]) != magic[:n] {
		return nil, unreadable("it does not begin with %q", magic)
	}
	if len(data) <= len(magic) {
		return nil, cutShort("the version")
	}
	switch v := data[len(magic)]; {
	case v > version:
		return nil, unreadable("it is of version %d and this program reads version %d: a newer one wrote it", v, version)
	case v < version:
		return nil, unreadable("it is of version %d, which there never was", v)
	}
	// Its shape is looked at before the sum, because that tells a stream that
	// was cut from one that was damaged, and what it says after.
	sc := scanner{rest: data[len(magic)+1:]}
	limit := sc.text("the limit")
	wall := sc.take(8, "the time")
	s := &stream{
		elapsed: time.Duration(sc.number("the elapsed time")),
		fresh:   sc.number("the balance of new keys"),
		kind:    string(sc.text("the kind of keys")),
	}
	s.records = sc.rest
	count := uint64(0)
	for sc.err == nil && (len(sc.rest) == 0 || sc.rest[0] != 0) {
		sc.record()
		count++
	}
	s.records = s.records[:len(s.records)-len(sc.rest)]
	sc.number("the end")
	counted := sc.number("the number of keys")
	sum := sc.take(sumLen, "the checksum")
	switch {
	case sc.err != nil:
		return nil, sc.err
	case len(sc.rest) > 0:
		return nil, unreadable("%d bytes come after its end", len(sc.rest))
	case binary.BigEndian.Uint32(sum) != crc32.Checksum(data[:len(data)-sumLen], castagnoli):
		return nil, unreadable("its checksum is wrong")
	case counted != count:
		return nil, unreadable("it has %d keys and says %d", count, counted)
	}
	s.wall = int64(binary.BigEndian.Uint64(wall))
	if err := s.limit.UnmarshalText(limit); err != nil {
		return nil, unreadable("%w", err)
	}
	return s, nil
}

// A scanner reads a stream piece by piece. After an error it has nothing left,
// and what it returns means nothing.
type scanner struct {
	rest []byte
	err  error
}

func (s *scanner) number(what string) uint64 {
	v, n := binary.Uvarint(s.rest)
	switch {
	case n == 0:
		s.fail(cutShort(what))
	case n < 0 || v > math.MaxInt64:
		s.fail(unreadable("%s does not fit 63 bits", what))
	default:
		s.rest = s.rest[n:]
		return v
	}
	return 0
}

func (s *scanner) take(n uint64, what string) []byte {
	if n > uint64(len(s.rest)) {
		s.fail(cutShort(what))
		return nil
	}
	b := s.rest[:n]
	s.rest = s.rest[n:]
	return b
}

func (s *scanner) text(what string) []byte { return s.take(s.number(what), what) }

func (s *scanner) record() (key []byte, lacks uint64) {
	n := s.number("a key")
	key = s.take(n-min(n, 1), "a key")
	return key, s.number("a key's balance")
}

func (s *scanner) fail(err error) {
	if s.err == nil {
		s.err = err
	}
	s.rest = nil
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}
