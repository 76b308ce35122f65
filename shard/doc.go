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
// A [Table] does what a Limiter does for tens of millions of keys, in one fixed
// block of memory.
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
//     map; in a Table what is given back does so too, and may take memory, which
//     can happen to a joint that rolls back. There is no goroutine, no finalizer
//     and no timer.
//
// # The life of a cell
//
// A Limiter's keys live in 64 maps, or as many as [WithShards] says, because one map stalls
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
// # The life of a slot
//
// A Table is one block of slots, each a hash and a TAT. A hash of 0 is a slot
// never used, a TAT below 0 is one that is being written, or has moved on. A
// slot never becomes unused again; when its key is full, another may take it
// over. What could go wrong is that a charge for one key is written where another
// lives by then.
//
//   - A decision loads the TAT, then the hash, then swaps the TAT. A takeover
//     claims the TAT, then stores the hash, then the TAT. So who has seen a TAT,
//     and after it his own hash, has seen the TAT of his own key or one from
//     before the takeover, and his swap succeeds on the former alone: from owner
//     to owner the TATs of a slot only grow, so that no two store the same.
//     Loaded the other way round, the TAT could be the next owner's. Without the
//     claim there would be a moment with the one's hash beside the other's TAT.
//   - They grow because a takeover is dated after the TAT that it replaces,
//     strictly, and takes at least a tick. A give-back and a Reset lower a TAT,
//     and so they first raise the slot's mark to what it was; a taker loads the
//     mark after the TAT, and leaves the slot alone until the mark has passed.
//     Otherwise: one key books up to tick 3, a decision loads the 3 and is held
//     up, the booking is canceled down to 1, at 2 another key takes the slot
//     over and charges 1, which makes 3, and the decision's swap charges that key.
//   - Who writes nothing makes no swap that would fail, and so he loads the TAT
//     once more. Else a reading from before a takeover would be held against
//     the TAT of the key that left, which is ahead of it: a refusal for a key
//     that owes nothing.
//   - A key comes to be in one place, under a lock that it shares with some
//     others: after looking at all its slots once more, or two who insert one key
//     would give it two buckets; after reading the clock once more, as above; and
//     only there. A claimed slot with its hash is one that it is just losing, and
//     counts as none. Claims are made by a swap of the TAT that was found full, so
//     of two who want one slot, under locks of their own, one gets it, and a
//     charge that comes before makes both fail. Nobody undoes a claim: the TAT
//     that was put back would have had an owner before.
//   - Give-backs and resets hold the same lock, so that a booking from before a
//     Reset is known by its stamp: a Reset draws the next number, and a booking
//     notes the last one drawn, both after loading the TAT that they swap. So a
//     booking that was swapped before a Reset has noted a lower one.
//
// A key has 48 slots, in two runs of six buckets. A new one goes into the
// emptier of the two first buckets, else into the emptiest of the others. So two
// lines of memory, asked for together, hold nearly all keys. One that is absent
// costs no more while one of its first two buckets has a slot that was never
// used, and the limit has not been changed; else it costs all twelve.
//
// SetLimit makes a second block for the new generation, and publishes it while no
// insert is under way. A charge in the old block is dated before the change, as
// its clock was read before the block was found. Buckets are brought over one by
// one, each slot to where it was, so that there is room: its TAT is swapped for
// gone, in one step with the reading, converted, and stored as in a takeover. Who
// does not find his key in the new block while keys are being brought over brings
// over all that could hold it, before he looks again and inserts; so nobody
// inserts where a key is still to come. Keys that are full do not come along, as
// they read the same without a slot. And who has found nothing in a block
// makes sure that it is still the one in force: in the old one, his key may have
// just gone.
//
// The search in package stress runs this too, each step of it.
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
