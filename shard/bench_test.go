package shard_test

import (
	"testing"

	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// BenchmarkTake asks about 1024 keys that are present, all granted or, once
// each has been emptied, all refused: what the options of counting cost.
func BenchmarkTake(b *testing.B) {
	const keys = 1024
	for _, row := range []struct {
		name string
		opts []shard.Option
	}{
		{"stats=off", nil},
		{"stats=on", []shard.Option{shard.WithStats()}},
		{"dryrun=on", []shard.Option{shard.WithDryRun()}},
		{"toprefused=10", []shard.Option{shard.WithTopRefused(10)}},
	} {
		for _, granted := range []bool{true, false} {
			name, limit := row.name+"/case=granted", gcra.PerHour(1).Burst(1<<30)
			if !granted {
				name, limit = row.name+"/case=refused", gcra.PerDay(0)
			}
			b.Run(name, func(b *testing.B) {
				l := shard.New[uint64](limit, row.opts...)
				for key := range uint64(keys) {
					l.Take(key, 1)
				}
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					for key := uint64(0); pb.Next(); key = (key + 1) % keys {
						if d := l.Take(key, 1); (d.Err() == nil) != granted {
							b.Error(d.Err())
						}
					}
				})
			})
		}
	}
}
