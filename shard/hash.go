package shard

import (
	"hash/maphash"
	"reflect"
	"sync"

	"github.com/puzpuzpuz/xsync/v3"
)

// A typeHasher adds to a key's hash what package maphash leaves out: the types
// of the values that its interfaces hold, and which of them are nil. Without
// them int64(5) and uint64(5) would be one key to a table, whatever its seed.
type typeHasher[K comparable] struct {
	seed maphash.Seed
	keys sync.Pool // of *K: to look into a key takes one on the heap
}

// newTypeHasher returns nil if there is no interface in keys of that type.
func newTypeHasher[K comparable](seed maphash.Seed) *typeHasher[K] {
	if !holdsInterface(reflect.TypeFor[K]()) {
		return nil
	}
	return &typeHasher[K]{seed: seed, keys: sync.Pool{New: func() any { return new(K) }}}
}

func (t *typeHasher[K]) add(h uint64, key K) uint64 {
	p := t.keys.Get().(*K)
	*p = key
	h = t.walk(h, reflect.ValueOf(p).Elem())
	var zero K
	*p = zero // or what it points to would be kept
	t.keys.Put(p)
	return h
}

func (t *typeHasher[K]) walk(h uint64, v reflect.Value) uint64 {
	switch v.Kind() {
	case reflect.Interface:
		inner := v.Elem()
		if !inner.IsValid() {
			return t.mix(h, nil)
		}
		return t.walk(t.mix(h, inner.Type()), inner)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "_" { // which is not compared
				h = t.walk(h, v.Field(i))
			}
		}
	case reflect.Array:
		if holdsInterface(v.Type().Elem()) {
			for i := range v.Len() {
				h = t.walk(h, v.Index(i))
			}
		}
	}
	return h
}

func (t *typeHasher[K]) mix(h uint64, typ reflect.Type) uint64 {
	return maphash.Comparable(t.seed, struct {
		h   uint64
		typ reflect.Type
	}{h, typ})
}

func holdsInterface(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Array:
		return holdsInterface(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.Name != "_" && holdsInterface(f.Type) {
				return true
			}
		}
	}
	return false
}

// newCells returns an empty map. That of xsync hashes, of an interface, what its
// data word points to: right for numbers, but of a pointer it would be what that
// points to, which changes, and nil it cannot hash at all.
func newCells[K comparable]() *xsync.MapOf[K, *cell] {
	if reflect.TypeFor[K]().Kind() != reflect.Interface {
		return xsync.NewMapOf[K, *cell]()
	}
	seed := maphash.MakeSeed()
	return xsync.NewMapOfWithHasher[K, *cell](func(key K, table uint64) uint64 {
		return maphash.Comparable(seed, key) ^ table
	})
}
