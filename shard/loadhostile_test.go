package shard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// allocated returns how many bytes do allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// savedKeys is a valid stream of some keys.
func savedKeys(t testing.TB, keys int) []byte {
	var clk clock.Manual
	l := New[string](gcra.PerHour(1).Burst(100), WithClock(&clk))
	for i := range keys {
		l.Take(string(rune('a'+i)), i+1)
	}
	var out bytes.Buffer
	if err := l.Save(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestLoadEveryBit flips every bit of a stream, and cuts it at every byte: all of
// that is found by its sum or before, and nothing is changed.
func TestLoadEveryBit(t *testing.T) {
	data := savedKeys(t, 12)
	refuse := func(what string, at int, bad []byte) {
		l := New[string](gcra.PerHour(1).Burst(100))
		fresh := l.core.Current().Fresh()
		if err := l.Load(bytes.NewReader(bad)); !errors.Is(err, ErrFormat) || l.Len() != 0 || l.core.Current().Fresh() != fresh {
			t.Fatalf("%s %d: %v, %d keys", what, at, err, l.Len())
		}
		// It is not spoilt: the whole stream can be loaded still, and once only.
		if at%50 == 0 {
			load(t, l, data)
			if err := l.Load(bytes.NewReader(data)); !errors.Is(err, errHasKeys) || l.Len() != 12 || l.Peek("c", 0).Remaining() != 97 {
				t.Fatalf("%s %d: loaded twice: %v, %d keys", what, at, err, l.Len())
			}
		}
	}
	for bit := range 8 * len(data) {
		bad := bytes.Clone(data)
		bad[bit/8] ^= 1 << (bit % 8)
		refuse("bit", bit, bad)
	}
	for n := range data {
		refuse("cut at", n, data[:n])
	}
	for n := range 20 {
		refuse("bytes more:", n, append(bytes.Clone(data), make([]byte, n+1)...))
	}
}

// TestLoadAllocatesWhatItReads: lengths and counts that a stream only claims, at
// every place where a number may stand, with the sum put right, cost nothing.
func TestLoadAllocatesWhatItReads(t *testing.T) {
	data := savedKeys(t, 12)
	empty := allocated(func() { New[string](gcra.PerHour(1).Burst(100), WithShards(1)) })
	for at := len(magic) + 1; at < len(data)-sumLen; at++ {
		for _, claim := range []uint64{1 << 20, 1 << 31, 1 << 40, 1<<63 - 1, 1 << 63, 1<<64 - 1} {
			bad := append(bytes.Clone(data[:at]), binary.AppendUvarint(nil, claim)...)
			bad = sealed(append(bad, data[at+1:len(data)-sumLen]...))
			got := allocated(func() { _ = New[string](gcra.PerHour(1).Burst(100), WithShards(1)).Load(bytes.NewReader(bad)) })
			if most := empty + 1<<16 + 64*uint64(len(bad)); got > most {
				t.Fatalf("%d bytes were allocated for a stream of %d that claims %d at %d", got, len(bad), claim, at)
			}
		}
	}
}

// FuzzLoadDamaged flips bits of a valid stream and cuts it; with a right sum, what
// can be loaded has no key twice, and is loaded only once.
func FuzzLoadDamaged(f *testing.F) {
	data := savedKeys(f, 12)
	f.Fuzz(func(t *testing.T, flips []byte, length uint16, again bool) {
		bad := bytes.Clone(data[:min(int(length), len(data)-sumLen)])
		for i := 0; i+1 < len(flips) && i < 16 && len(bad) > 0; i += 2 {
			bad[int(flips[i])%len(bad)] ^= flips[i+1]
		}
		if again && bytes.HasSuffix(bad, data[len(data)/2:len(data)-sumLen]) {
			bad = append(bad, data[len(data)/2:len(data)-sumLen]...)
		}
		fuzzLoad[string](t, bad)
		bad = sealed(bad)
		fuzzLoad[string](t, bad)
		l := New[string](gcra.PerHour(1).Burst(100), WithShards(1))
		if l.Load(bytes.NewReader(bad)) != nil || l.Len() == 0 {
			return
		}
		n, seen := l.Len(), map[string]bool{}
		for key, d := range l.All() {
			if seen[key] || d.Remaining() > 100 {
				t.Fatalf("key %q, twice %v, with %d tokens", key, seen[key], d.Remaining())
			}
			seen[key] = true
		}
		if err := l.Load(bytes.NewReader(bad)); err == nil || l.Len() != n || len(seen) != n {
			t.Fatalf("loaded twice: %v; %d keys of %d, %d seen", err, l.Len(), n, len(seen))
		}
	})
}
