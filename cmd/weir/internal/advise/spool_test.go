package advise

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// TestSpool writes and reads requests, in memory and in a file, which is gone afterwards.
func TestSpool(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	r := rand.New(rand.NewPCG(19, 20))
	for _, room := range []int64{0, blockSize, 1 << 30} {
		s := &spool{room: room}
		var want []request
		at := int64(-1 << 63)
		for range 300_000 {
			if step := r.Int64N(1 << r.IntN(50)); at < 1<<62 {
				at += step
			}
			q := request{at, int32(r.Uint32() >> r.IntN(32) >> 1), r.Int64() >> r.IntN(63)}
			want = append(want, q)
			if err := s.add(q); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			var got []request
			if err := s.each(func(q request) { got = append(got, q) }); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("room %d: other requests came back", room)
			}
		}
		if (s.bytes > 0) != (room <= blockSize) {
			t.Errorf("room %d: %d bytes in the file", room, s.bytes)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	t.Setenv("TMPDIR", "/no/such/folder")
	if err := (&spool{}).add(request{}); err == nil {
		t.Error("nowhere to write, and no error")
	}
}
