// Package shard limits the rates of many keys, each with its own bucket: a
// client, a tenant, an address.
//
//	limiter := shard.New[string](gcra.PerSecond(100).Burst(20))
//	d := limiter.Take(clientIP, 1)
//	if !d.OK() {
//		return tooManyRequests(d.RetryAfter())
//	}
//
// [Join] decides by several limits at once: per user, per address, all together.
//
// # What holds
//
//   - A key never seen has a full bucket (or what the limit's Start says), and
//     a key whose bucket is full may be forgotten: the two are the same.
//   - No charge is lost. A key is forgotten in one atomic step with the charges
//     that race with it, and only while its bucket is full.
//   - A refusal, a Peek and a cost of 0 write nothing and make no cell for a key
//     that has none.
//   - With [WithMaxKeys] memory is bounded, and a flood of new keys never evicts
//     one that still owes time.
//   - A change of limit keeps every key's tokens, and its debt.
//   - Decisions on keys that are present take no lock and do not allocate, but
//     for the first grant of a key after a change of limit, and for what a
//     reservation may need to find its key again. A new key takes a lock of its
//     map. There is no goroutine, no finalizer and no timer.
//
// # The life of a cell
//
// Keys live in 64 maps, or as many as [WithShards] says, because one map stalls
// its writers for as long as it takes to copy it when it grows. A map holds for
// each key the pointer to a cell: the word that package atomic moves, and the
// generation that says whose ticks it counts.
//
// A decision reads the clock, then finds the cell, then swaps its word. What
// could go wrong is that the cell leaves the map in between:
//
//   - Forgetting first swaps the word to dead, and that swap succeeds only on
//     the very value that was found full. A charge that comes before makes it
//     fail; a charge that comes after meets the dead word, and cannot swap it.
//     If the entry were deleted without that step, a charge to the cell that
//     has just left the map would be granted and never counted.
//   - Who meets a dead cell does not wait for the sweeper. It replaces the cell
//     in one map operation, with its own charge already in the new one, and the
//     sweeper deletes an entry only if it still holds the cell that it killed.
//   - Who is about to make a cell reads the clock again, under the map's lock and
//     after it has looked once more. A reading from before may be older than
//     the whole life of a cell that was made, charged and forgotten meanwhile;
//     a charge dated by it would lie in the past and be worth nothing.
//
// # Changing the limit
//
// The words of two limits count different ticks, and a decider that was held up
// across a change must not write one where the other is read. A bit in the word
// is not enough: two changes restore it. So a cell belongs to one generation for
// good, and SetLimit only publishes a new one.
//
//   - A decision reads the clock, then the cell, then the generation in force. If
//     the cell is of that one, the decision is dated before the change that ends
//     it, whenever its swap comes.
//   - Who meets an older cell converts it: for a refusal, in registers; for a
//     grant, it freezes the word, so that no charge can come after, and puts a
//     cell of the generation in force in its place, charge included. Frozen is
//     not dead: taken for dead, it would lose its debt.
//   - All convert at the same instant, which is read after the generation was
//     published, and decide at none before it. Otherwise the time before the
//     change would count twice, at both rates.
//   - A sweep judges a cell by the limit in force: what is full under its own may
//     still owe time under that.
//
// The search in package stress runs all interleavings of a small model of this,
// and finds a violation as soon as one part is left out.
//
// # Restarts
//
// [Limiter.Save] writes balances, anchored to wall time, and [Limiter.Load] reads
// them into a limiter that has no key yet, as they would have become meanwhile.
//
// # Forgetting
//
// An insert looks at two remembered keys and forgets those whose buckets are
// full, so that the memory of a flood is reclaimed by the inserts that follow
// it; [Limiter.Sweep] does it at once. Each shard lists the keys that it
// inserted, because xsync maps cannot be walked piecemeal, and an item of that
// list lives exactly as long as the entry of its key.
//
// # What it does not do
//
// It does not share limits between processes, or order the refused.
package shard
