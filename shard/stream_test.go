package shard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

func sealed(body []byte) []byte {
	return binary.BigEndian.AppendUint32(body[:len(body):len(body)], crc32.Checksum(body, castagnoli))
}

// seal puts a stream together again.
func (s *stream) seal() []byte { return s.sealWith(s.limit.String(), s.count()) }

func (s *stream) count() (n uint64) {
	for sc := (scanner{rest: s.records}); len(sc.rest) > 0; n++ {
		sc.record()
	}
	return n
}

func (s *stream) sealWith(limit string, count uint64) []byte {
	b := appendText(append([]byte(magic), version), limit)
	b = binary.BigEndian.AppendUint64(b, uint64(s.wall))
	b = binary.AppendUvarint(b, uint64(s.elapsed))
	b = binary.AppendUvarint(b, s.fresh)
	b = appendText(b, s.kind)
	b = append(append(b, s.records...), 0)
	return sealed(binary.AppendUvarint(b, count))
}

func (s *stream) add(key string, lacks uint64) {
	b := binary.AppendUvarint(s.records[:len(s.records):len(s.records)], uint64(len(key))+1)
	s.records = binary.AppendUvarint(append(b, key...), lacks)
}

// small is a stream of a few keys, made at no time in particular.
func small(t testing.TB) *stream {
	t.Helper()
	var clk clock.Manual
	l := New[string](gcra.PerSecond(99).Burst(7).Start(1), WithClock(&clk))
	clk.Advance(12345)
	for _, key := range []string{"", "ann", "bob", strings.Repeat("c", 200)} {
		l.Debit(key, 1+len(key))
	}
	s, err := parseStream(saved(t, l))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// refused checks that Load fails, with an error that is all of want, and that
// the limiter is as it was.
func refused[K comparable](t testing.TB, data []byte, want ...error) (text string) {
	t.Helper()
	l := New[K](gcra.PerSecond(10).Burst(5).Start(3), WithShards(1))
	fresh := l.core.Current().Fresh()
	err := l.Load(bytes.NewReader(data))
	if err == nil || l.Len() != 0 || l.core.Current().Fresh() != fresh || l.ahead.Load() != nil {
		t.Errorf("%v, and then %d keys, and new ones at %d that were at %d", err, l.Len(), l.core.Current().Fresh(), fresh)
		return ""
	}
	for _, want := range want {
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	return err.Error()
}

// The layout is fixed: this stream was written by version 1.
func TestGolden(t *testing.T) {
	const golden = "weir\x01" + "\x0d10/s burst 20" + "\x17\x97\x9c\xfe\x36\x2a\x00\x00" + "\x40" + "\x00" + "\x06string" +
		"\x04ann\x80\xc2\xd7\x2f" + "\x04bob\x80\xe1\xeb\x17" + "\x00" + "\x02"
	data := sealed([]byte(golden))
	s, err := parseStream(data)
	if err != nil {
		t.Fatal(err)
	}
	if s.limit != gcra.PerSecond(10).Burst(20) || time.Unix(0, s.wall).UTC().Format(time.DateTime) != "2023-11-14 22:13:20" ||
		s.elapsed != 64 || s.fresh != 0 || s.kind != "string" || s.count() != 2 {
		t.Errorf("%+v", s)
	}
	if !bytes.Equal(s.seal(), data) {
		t.Errorf("%q came back as %q", data, s.seal())
	}
	// Years ago, so all is refilled; but not if the clock stands.
	s.wall = math.MaxInt64
	l := New[string](s.limit)
	load(t, l, s.seal())
	if ann, bob := l.Peek("ann", 0).Remaining(), l.Peek("bob", 0).Remaining(); ann != 19 || bob != 19 || l.Len() != 2 {
		t.Errorf("ann has %d tokens, bob %d", ann, bob)
	}
}

func TestCutShort(t *testing.T) {
	data := small(t).seal()
	for n := range data {
		refused[string](t, data[:n], ErrFormat, io.ErrUnexpectedEOF)
	}
	load(t, New[string](gcra.PerSecond(1)), data)
}

func TestDamaged(t *testing.T) {
	data := small(t).seal()
	for i := range data {
		for bit := range 8 {
			data[i] ^= 1 << bit
			refused[string](t, data, ErrFormat)
			data[i] ^= 1 << bit
		}
		was := data[i]
		for _, now := range []byte{0, 1, 0x7f, 0x80, 0xff} {
			if data[i] = now; now != was {
				refused[string](t, data, ErrFormat)
			}
		}
		data[i] = was
		refused[string](t, append(data[:i:i], data[i+1:]...), ErrFormat)
	}
	refused[string](t, append(data, 0), ErrFormat)
	refused[string](t, append(data, data...), ErrFormat)
}

func TestVersions(t *testing.T) {
	data := small(t).seal()
	for _, row := range []struct {
		version byte
		want    []string
	}{
		{0, []string{"version 0"}},
		{2, []string{"version 2", "version 1"}},
		{255, []string{"version 255", "version 1"}},
	} {
		data[len(magic)] = row.version
		for _, data := range [][]byte{sealed(data[:len(data)-sumLen]), data, data[:len(magic)+1]} {
			text := refused[string](t, data, ErrFormat)
			for _, want := range row.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q does not say %q", text, want)
				}
			}
		}
	}
}

func TestKindsDiffer(t *testing.T) {
	s := small(t)
	for _, kind := range []string{"", "int", "strings", strings.Repeat("x", 1000)} {
		s.kind = kind
		refused[string](t, s.seal(), ErrFormat)
	}
	s.records = nil
	for _, row := range []struct {
		kind   string
		refuse func(testing.TB, []byte, ...error) string
	}{
		{"string", refused[int]}, {"string", refused[netip.Addr]}, {"int", refused[uint]}, {"uint", refused[int]},
		{"[4]byte", refused[[5]byte]}, {"text", refused[netip.Addr]}, {"binary", refused[point]}, {"[4]byte", refused[string]},
	} {
		s.kind = row.kind
		row.refuse(t, s.seal(), ErrFormat)
	}
}

// Sound by its checksum, and yet nothing that Save would have written.
func TestForged(t *testing.T) {
	for _, row := range []struct {
		forge func(s *stream) []byte
		why   string
	}{
		{func(s *stream) []byte { return s.sealWith("", 4) }, "no limit"},
		{func(s *stream) []byte { return s.sealWith("99/s burst x", 4) }, "a wrong limit"},
		{func(s *stream) []byte { return s.sealWith(strings.Repeat("9", 1<<16), 4) }, "a long one"},
		{func(s *stream) []byte { s.elapsed = -1; return s.seal() }, "time before the first reading"},
		{func(s *stream) []byte { s.fresh = 1 << 63; return s.seal() }, "a new key's TAT is beyond an int64"},
		{func(s *stream) []byte { s.add("x", 1<<63); return s.seal() }, "a key's TAT is beyond an int64"},
		{func(s *stream) []byte { return s.sealWith(s.limit.String(), 3) }, "too few keys counted"},
		{func(s *stream) []byte { return s.sealWith(s.limit.String(), 5) }, "too many"},
		{func(s *stream) []byte { return s.sealWith(s.limit.String(), math.MaxUint64) }, "far too many"},
		{func(s *stream) []byte { s.records = binary.AppendUvarint(nil, 1<<62); return s.seal() }, "a key as long as memory"},
		{func(s *stream) []byte { s.records = binary.AppendUvarint(nil, math.MaxUint64); return s.seal() }, "longer"},
		{func(s *stream) []byte { s.records = bytes.Repeat([]byte{0xff}, 20); return s.seal() }, "an endless number"},
	} {
		var before, after runtime.MemStats
		data := row.forge(small(t))
		runtime.ReadMemStats(&before)
		refused[string](t, data, ErrFormat)
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
			t.Errorf("%d bytes were allocated for a stream of %d: %s", got, len(data), row.why)
		}
	}
	s := small(t)
	s.records = nil
	for _, key := range []string{"", "\x80", "\x01\x00", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", "\x80\x02"} {
		forged := *s
		forged.add(key, 1)
		forged.kind = "int"
		refused[int8](t, forged.seal(), ErrFormat)
		forged.kind = "uint"
		refused[uint8](t, forged.seal(), ErrFormat)
		forged.kind = "[6]byte"
		refused[mac](t, forged.seal(), ErrFormat)
		forged.kind = "text"
		refused[point](t, forged.seal(), ErrFormat)
	}
}

// A key that stands twice, which Save does not do, has the smaller balance.
func TestTwice(t *testing.T) {
	s := small(t)
	s.wall = math.MaxInt64
	k := perToken(&s.limit)
	s.records = nil
	s.add("a", 3*k)
	s.add("a", 5*k)
	s.add("a", 2*k)
	l := New[string](s.limit)
	load(t, l, s.seal())
	if got := l.Peek("a", 0).Remaining(); got != 2 || l.Len() != 1 {
		t.Errorf("%d tokens, want 2; %d keys", got, l.Len())
	}
}

func fuzzLoad[K comparable](t *testing.T, data []byte) {
	l := New[K](gcra.PerSecond(99).Burst(7).Start(2), WithShards(1))
	fresh := l.core.Current().Fresh()
	if err := l.Load(bytes.NewReader(data)); err != nil {
		if l.Len() != 0 || l.core.Current().Fresh() != fresh {
			t.Fatalf("%v, and then %d keys", err, l.Len())
		}
		if !errors.Is(err, ErrFormat) {
			t.Fatalf("%v, want ErrFormat", err)
		}
		return
	}
	again := New[K](l.Limit(), WithShards(1))
	load(t, again, saved(t, l))
	for key, d := range again.All() {
		if was := l.Peek(key, 0).ResetAfter(); d.ResetAfter() < was {
			t.Fatalf("key %v: full after %v, and after a restart at once after %v", key, was, d.ResetAfter())
		}
	}
}

// Whatever it reads, Load does not panic, and changes nothing if it fails.
func FuzzLoad(f *testing.F) {
	data := small(f).seal()
	f.Add(data)
	f.Add(data[:20])
	f.Add([]byte{})
	f.Add([]byte("weir\x02"))
	for kind, key := range map[string]string{"int": "\x05", "[6]byte": "abcdef", "binary": "\x01\x02\x03\x04", "text": "3/4"} {
		s := small(f)
		s.kind, s.records = kind, nil
		s.add(key, 1000)
		f.Add(s.seal())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzLoad[string](t, data)
		// With the right checksum more of it is read.
		data = sealed(data[:max(len(data)-sumLen, 0)])
		fuzzLoad[string](t, data)
		fuzzLoad[short](t, data)
		fuzzLoad[mac](t, data)
		fuzzLoad[netip.Addr](t, data)
		fuzzLoad[point](t, data)
	})
}
