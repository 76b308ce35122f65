package shard

import (
	"math"
	"testing"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

type (
	userID   int64
	orgID    int64
	tagText  string
	oneField struct{ a int32 }
)

// Keys that differ in nothing but the types of what their interfaces hold have
// the same hash by package maphash.
func TestTableTellsTypesApart(t *testing.T) {
	var clk clock.Manual
	for _, row := range []struct {
		a, b any
		why  string
	}{
		{int64(5), uint64(5), "signed and not"},
		{userID(5), orgID(5), "two names for one type"},
		{"x", tagText("x"), "a string and a named one"},
		{"", struct{}{}, "nothing to hash"},
		{[0]int{}, [0]string{}, "nor here"},
		{false, uint8(0), "a byte each"},
		{float32(0), 0.0, "zero is hashed in one way"},
		{oneField{7}, int32(7), "a struct of one"},
		{[1]int32{7}, oneField{7}, "and an array of one"},
		{boxed{nil, "x"}, boxed{"x", nil}, "nil is hashed as nothing"},
		{boxed{int8(1), uint8(1)}, boxed{uint8(1), int8(1)}, "in another order"},
		{boxed{boxed{nil, 1}, nil}, boxed{nil, boxed{1, nil}}, "further inside"},
		{[2]any{nil, oneField{1}}, [2]any{oneField{1}, nil}, "in an array"},
		{struct{ in [2]boxed }{[2]boxed{{nil, 1}}}, struct{ in [2]boxed }{[2]boxed{1: {1, nil}}}, "and in structs in that"},
	} {
		l := NewTable[any](gcra.PerSecond(1), 10, WithClock(&clk))
		if !l.Allow(row.a) || !l.Allow(row.b) || l.Allow(row.a) || l.Allow(row.b) {
			t.Errorf("%#v and %#v share a bucket: %s", row.a, row.b, row.why)
		}
	}
	a, b := boxed{0.0, nil}, boxed{math.Copysign(0, -1), nil}
	if l := NewTable[boxed](gcra.PerSecond(1), 10, WithClock(&clk)); !l.Allow(a) || l.Allow(b) {
		t.Errorf("%#v and %#v are equal and do not share a bucket", a, b)
	}
	l := NewTable[any](gcra.PerSecond(1), 10, WithClock(&clk))
	var key any = boxed{[2]any{"a", 1}, oneField{3}}
	l.Allow(key)
	if n := testing.AllocsPerRun(100, func() { l.Allow(key) }); n != 0 && raceSlow == 0 {
		t.Errorf("a refusal allocates %v times", n)
	}
	if NewTable[struct {
		a [2]string
		p *any
		_ any
	}](gcra.PerSecond(1), 10).types != nil {
		t.Error("keys that hold no interface are looked into")
	}
}

type counted interface{ count() int }

type counter struct{ n int }

func (c *counter) count() int { return c.n }

// A pointer in an interface is a key by its address, whatever happens to what it
// points to, and nil is a key too.
func TestPointersInInterfaces(t *testing.T) {
	var clk clock.Manual
	target, channel, c := new(int), make(chan int, 1), new(counter)
	type holder struct{ p *int }
	for _, key := range []any{nil, (*int)(nil), target, channel, (chan int)(nil), holder{target}, holder{}, [1]*int{target}, c, new(bool)} {
		l, tab := New[any](gcra.PerSecond(1), WithClock(&clk)), NewTable[any](gcra.PerSecond(1), 10, WithClock(&clk))
		for _, allow := range []func(any) bool{l.Allow, tab.Allow} {
			first := allow(key)
			*target, c.n = *target+1, c.n+1
			if len(channel) == 0 {
				channel <- 1
			} else {
				<-channel
			}
			if !first || allow(key) {
				t.Errorf("%T: granted %v at first, and another token then", key, first)
			}
		}
		if l.Len() != 1 || tab.Len() != 1 {
			t.Errorf("%T: %d keys in the limiter and %d in the table", key, l.Len(), tab.Len())
		}
		clk.Advance(10e9)
		if n := l.Sweep(); n != 1 {
			t.Errorf("%T: %d keys forgotten", key, n)
		}
	}
	l := New[counted](gcra.PerSecond(1), WithClock(&clk))
	if !l.Allow(c) || !l.Allow(nil) {
		t.Error("refused at first")
	}
	if c.n++; l.Allow(c) || l.Allow(nil) {
		t.Error("an interface with methods: granted twice")
	}
}
