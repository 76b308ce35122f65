package shard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
)

type (
	name  string
	octet byte
	mac   [6]octet
	short int16
	// A text has both methods on the pointer only.
	point struct{ x, y int }
	// A lossy key comes back as another.
	lossy struct{ x int }
	// A stubborn one does not come back, or does not even go.
	stubborn struct{ x int }
)

func (p *point) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%d/%d", p.x, p.y), nil }
func (p *point) UnmarshalText(b []byte) error {
	_, err := fmt.Sscanf(string(b), "%d/%d", &p.x, &p.y)
	return err
}

func (lossy) MarshalText() ([]byte, error)  { return nil, nil }
func (*lossy) UnmarshalText(b []byte) error { return nil }

func (s stubborn) MarshalBinary() ([]byte, error) {
	if s.x == 0 {
		return nil, io.ErrClosedPipe
	}
	return nil, nil
}
func (*stubborn) UnmarshalBinary(b []byte) error { return io.ErrClosedPipe }

func testKeys[K comparable](t *testing.T, keys ...K) {
	t.Helper()
	old := New[K](gcra.PerHour(1).Burst(100))
	for i, key := range keys {
		old.Take(key, i+1)
	}
	l := New[K](old.Limit())
	load(t, l, saved(t, old))
	for i, key := range keys {
		if got := l.Peek(key, 0).Remaining(); got != 100-(i+1) {
			t.Errorf("%T %v: %d tokens, want %d", key, key, got, 100-(i+1))
		}
	}
	if l.Len() != len(keys) {
		t.Errorf("%T: %d keys, want %d", keys[0], l.Len(), len(keys))
	}
}

func TestKeysComeBack(t *testing.T) {
	testKeys(t, "", "a", "a\x00", "\xff", string(make([]byte, 300)), string(make([]byte, 1<<16)))
	testKeys[name](t, "", "ann")
	testKeys(t, math.MinInt, -1, 0, 1, math.MaxInt)
	testKeys[int8](t, math.MinInt8, -1, 0, 1, math.MaxInt8)
	testKeys[short](t, math.MinInt16, 0, math.MaxInt16)
	testKeys[int32](t, math.MinInt32, 0, math.MaxInt32)
	testKeys[int64](t, math.MinInt64, 0, math.MaxInt64)
	testKeys[uint](t, 0, 1, math.MaxUint)
	testKeys[uint8](t, 0, 1, math.MaxUint8)
	testKeys[uint16](t, 0, 1, math.MaxUint16)
	testKeys[uint32](t, 0, 1, math.MaxUint32)
	testKeys[uint64](t, 0, 1, math.MaxUint64)
	testKeys[uintptr](t, 0, 1)
	testKeys[time.Duration](t, -1, 0, time.Hour)
	testKeys(t, [0]byte{})
	testKeys(t, [1]byte{}, [1]byte{255})
	testKeys(t, [16]byte{}, [16]byte{15: 1})
	testKeys(t, mac{}, mac{1, 2, 3, 4, 5, 6})
	testKeys(t, netip.Addr{}, netip.MustParseAddr("1.2.3.4"), netip.MustParseAddr("::ffff:1.2.3.4"), netip.MustParseAddr("fe80::1%eth0"))
	testKeys(t, netip.Prefix{}, netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/48"))
	testKeys(t, netip.MustParseAddrPort("1.2.3.4:5"))
	testKeys(t, point{}, point{1, -2}, point{-2, 1})
}

func refusesKeys[K comparable](t *testing.T, why string, keys ...K) {
	t.Helper()
	l := New[K](gcra.PerHour(1).Burst(2))
	for _, key := range keys {
		l.Allow(key)
	}
	if err := l.Save(io.Discard); !errors.Is(err, ErrKey) && !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Save: %v, want ErrKey: %s", err, why)
	}
	if len(keys) > 0 {
		return
	}
	if err := l.Load(bytes.NewReader(nil)); !errors.Is(err, ErrKey) {
		t.Errorf("Load: %v, want ErrKey: %s", err, why)
	}
}

func TestKeysThatCannotBeSaved(t *testing.T) {
	refusesKeys[float64](t, "a float")
	refusesKeys[bool](t, "a bool")
	refusesKeys[any](t, "an interface")
	refusesKeys[fmt.Stringer](t, "an interface")
	refusesKeys[*point](t, "a pointer, which means nothing to the next process")
	refusesKeys[*string](t, "a pointer")
	refusesKeys[chan int](t, "a channel")
	refusesKeys[struct{ a string }](t, "a struct without methods")
	refusesKeys[[2]int](t, "an array of other than bytes")
	refusesKeys[[2]string](t, "an array of other than bytes")
	refusesKeys(t, "two keys with one text", lossy{1}, lossy{2})
	refusesKeys(t, "cannot be read back", stubborn{1})
	refusesKeys(t, "MarshalBinary fails", stubborn{0})
	refusesKeys(t, "its monotonic reading is not saved", time.Now())
}

// A key that is not equal to itself is not stored, and so not saved; nor is it
// taken from a stream.
type odd struct{ f float64 }

func (o odd) MarshalText() ([]byte, error)     { return fmt.Append(nil, o.f), nil }
func (o *odd) UnmarshalText(text []byte) error { _, err := fmt.Sscan(string(text), &o.f); return err }

func TestNaN(t *testing.T) {
	l := New[odd](gcra.PerHour(1))
	l.Allow(odd{math.NaN()})
	s, err := parseStream(saved(t, l))
	if err != nil || len(s.records) != 0 {
		t.Errorf("%v, records %q", err, s.records)
	}
	s.add("NaN", 1)
	if err := l.Load(bytes.NewReader(s.seal())); !errors.Is(err, ErrFormat) || l.Len() != 0 {
		t.Errorf("Load of NaN: %v, %d keys", err, l.Len())
	}
}
