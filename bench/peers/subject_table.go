package main

import (
	"strings"

	"github.com/weir-go/weir/shard"
)

// tables are asked one key at a time, and the same ones in batches. A batch
// reads the clock once, so there is nothing to save with a coarse one.
func tables[K comparable]() []subject[K] {
	subjects := withClocks(subject[K]{lib: "table", sized: true}, openTable[K](false))
	for _, s := range withClocks(subject[K]{lib: "table", sized: true}, openTable[K](true)) {
		if !strings.HasSuffix(s.lib, "-coarse") {
			s.lib, s.variant = s.lib+"-batch", true
			subjects = append(subjects, s)
		}
	}
	return subjects
}

func openTable[K comparable](batches bool) func(...shard.Option) func(limit, int) instance[K] {
	return func(opts ...shard.Option) func(limit, int) instance[K] {
		return func(l limit, keys int) instance[K] {
			table := shard.NewTable[K](l.weir(), keys, opts...)
			i := instance[K]{
				allow: func(key K) bool { return table.Allow(key) },
				len:   table.Len,
				drain: func(key K) { table.TakeUpTo(key, l.burst) },
			}
			if batches {
				i.many = table.AllowBatch
			}
			return i
		}
	}
}
