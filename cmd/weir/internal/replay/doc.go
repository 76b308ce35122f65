// Package replay decides recorded traffic in its own time, against several limits at once.
//
//	engine, err := replay.New(specs, replay.Options{})
//	summary, err := logs.Read(files, logs.Options{Keys: engine.Keys(), Costs: engine.Costs()}, engine.Add)
//	result := engine.Result(summary)
//
// Every decision is one of package gcra, as a limiter would make it that was made at the first request: what a replay says
// of a limit is what the limit would have done. The limits stand side by side and know nothing of each other, or with
// Options.Joint decide together: a request passes if all have room for it, and takes of none otherwise.
//
// # Memory
//
// A key of up to 23 bytes costs about 50 bytes and 16 for each limit, a longer one about 100 more. At most Options.MaxKeys are held for each kind of key. When there
// are more, keys whose buckets are full make room, since a full bucket is the same as one never seen, so that decisions stay
// exact; what was counted of them goes into a list of bounded length. If all buckets looked at still owe time, the new key
// is decided as one never seen and not stored, which is counted (Verdict.Unstored) and the only thing here that is not exact.
package replay
