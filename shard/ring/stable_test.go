package ring

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"testing"
)

// The values of this file are the API: every process, of every version, must find them. If a change makes one of these
// tests fail (an upgrade of go-maglev can be that change), the change is wrong, not the value.

func TestGoldenOwners(t *testing.T) {
	t.Parallel()
	three := of(t, "a", "b", "c")
	hundred := of(t, addresses(100)...)
	for _, row := range []struct {
		r    *Ring
		key  string
		want string
		why  string
	}{
		{three, "", "c", "the empty key"},
		{three, "\x00", "b", "a zero byte is not nothing"},
		{three, "alice", "b", ""},
		{three, "bob", "a", ""},
		{three, "carol", "a", ""},
		{three, "héloïse", "a", "bytes above 127"},
		{three, "\xff\xfe", "a", "not UTF-8"},
		{hundred, "alice", "10.0.0.58:7000", ""},
		{hundred, "bob", "10.0.0.91:7000", ""},
		{hundred, "192.0.2.1", "10.0.0.15:7000", ""},
		{hundred, "2001:db8::1", "10.0.0.40:7000", ""},
		{hundred, "9d8fcf2e-1f0b-4f0c-8f4c-2b6f3a0c7b11", "10.0.0.41:7000", "longer than a word"},
		{without(t, three, "b"), "alice", "c", ""},
		{without(t, three, "b"), "bob", "a", ""},
		{without(t, three, "a", "c"), "alice", "b", "the last one"},
		{without(t, hundred, addresses(50)...), "alice", "10.0.0.58:7000", ""},
		{without(t, hundred, addresses(50)...), "bob", "10.0.0.91:7000", ""},
		{without(t, hundred, addresses(50)...), "192.0.2.1", "10.0.0.52:7000", ""},
	} {
		if got := row.r.Owner(row.key); got != row.want {
			t.Errorf("of %d nodes %q is owned by %s, want %s: %s", len(row.r.Nodes()), row.key, got, row.want, row.why)
		}
	}
}

func TestGoldenOwnersOfHashes(t *testing.T) {
	t.Parallel()
	r := of(t, addresses(100)...)
	for _, row := range []struct {
		hash uint64
		want string
		why  string
	}{
		{0, "10.0.0.35:7000", "the one hash that mix leaves as it is"},
		{1, "10.0.0.41:7000", ""},
		{size, "10.0.0.81:7000", "not that of 0"},
		{1 << 31, "10.0.0.87:7000", "an int of 32 bits would be negative"},
		{1<<32 + 1, "10.0.0.53:7000", "the high half counts"},
		{1 << 63, "10.0.0.88:7000", "an int would be negative"},
		{1<<64 - 1, "10.0.0.88:7000", "the largest"},
	} {
		if got := r.OwnerHash(row.hash); got != row.want {
			t.Errorf("hash %#x is owned by %s, want %s: %s", row.hash, got, row.want, row.why)
		}
	}
}

// Some keys could stay while others move: these are all slots at once, as big-endian indices into the sorted names.
func TestGoldenTables(t *testing.T) {
	t.Parallel()
	hundred, most := of(t, addresses(100)...), of(t, addresses(MaxNodes)...)
	for _, row := range []struct {
		r    *Ring
		want string // the first eight bytes of the SHA-256
		why  string
	}{
		{of(t, "a"), "377d75ea6a319b8b", "all zero"},
		{of(t, "a", "b", "c"), "db8bfb661d630880", ""},
		{without(t, of(t, "a", "b", "c"), "b"), "377b232eb8eefa55", ""},
		{hundred, "67ac00fdd1cbd49b", ""},
		{without(t, hundred, addresses(1)...), "a8395c517e0c245e", "one out"},
		{without(t, hundred, addresses(50)...), "c4cf2fae2966702d", "half of them"},
		{most, "5fd7eaea4a036c46", "the largest ring"},
		{without(t, most, addresses(1000)...), "a9d9664dec9ec7e2", "most of it out"},
	} {
		var b []byte
		for _, n := range row.r.owner {
			b = binary.BigEndian.AppendUint16(b, n)
		}
		sum := sha256.Sum256(b)
		if got := fmt.Sprintf("%x", sum[:8]); got != row.want {
			t.Errorf("the table of %d of %d nodes is %s, want %s: %s",
				len(row.r.Nodes()), len(row.r.nodes), got, row.want, row.why)
		}
	}
}

// Owner promises that its hash is FNV-1a, so that it can be computed elsewhere.
func TestOwnerIsOwnerHashOfFNV(t *testing.T) {
	r := of(t, addresses(100)...)
	for i := range 300 {
		key := fmt.Sprintf("%*d\xff", i, i)
		h := fnv.New64a()
		h.Write([]byte(key))
		if got, want := r.Owner(key), r.OwnerHash(h.Sum64()); got != want {
			t.Errorf("Owner of %d bytes = %s, OwnerHash of its FNV-1a = %s", len(key), got, want)
		}
	}
}

// Values of MurmurHash3's 64-bit finalizer as published implementations give them.
func TestMix(t *testing.T) {
	for _, row := range []struct{ in, want uint64 }{
		{0, 0},
		{1, 0xb456bcfc34c2cb2c},
		{2, 0x3abf2a20650683e7},
	} {
		if got := mix(row.in); got != row.want {
			t.Errorf("mix(%#x) = %#x, want %#x", row.in, got, row.want)
		}
	}
}
