// Package lease spends a limit that several processes share without asking the
// shared store each time: it takes a block of a key's tokens in one round trip,
// and spends them here by compare-and-swap.
//
//	shared, err := redislimit.New(client, gcra.PerSecond(50_000).Burst(10_000), redislimit.Closed())
//	...
//	limiter, err := lease.New(lease.Redis(shared))
//	...
//	defer limiter.Close(ctx) // what is left goes back
//
//	d, err := limiter.Take(ctx, tenant, 1)
//	if err == nil && !d.OK() {
//		return tooManyRequests(d.RetryAfter())
//	}
//
// A lease is a block of one key's tokens that one process holds, for a stated time:
// its lifetime ([WithLifetime]).
//
// # What holds
//
// The store charges a block before anybody here can spend of it, and nothing is
// spent here that was not charged there. So of all processes together:
//
//   - In every window w the spends are at most burst + ⌊rate·w⌋ + what is leased
//     out, and unspent, at its start. For a token that is spent in the window was
//     charged within it, and the store lets no more than burst + ⌊rate·w⌋ be; or
//     before it, and then it was leased out when the window began.
//   - In every window w they are at most burst + ⌊rate·(w + lifetime)⌋, whatever
//     the number of processes and the size of blocks. For a token is spent less
//     than a lifetime after it was charged, so all of them were charged within
//     a window of that length.
//   - The long-run rate is never exceeded: since the beginning, no more has been
//     spent than charged.
//   - An expired token is never spent, and what came back is never spent here: it
//     is taken out of the block first.
//
// The second law needs each process to measure the lifetime, so it is counted on
// the monotonic clock here, from before the request was sent: the charge came
// later than that, and no two clocks are compared. A spend counts at the
// instant at which its decision read that clock. A machine that stood still, as
// one that was suspended does, resumes with leases that look younger than they
// are; the first and the third law hold without any clock.
//
// # What it costs
//
// Who leases tokens keeps them from others. Tokens of a process that went quiet,
// or was killed, are stranded: charged, and spent by nobody. One process strands
//
//   - at most one block of a key at a time: the most that [WithMaxBlock] and
//     [WithShare] let it hold, min(maximum, max(1, ⌊burst/parts⌋)), beside what
//     the one request asked for that took it;
//   - for at most a lifetime; then they are lost, as if they had been spent;
//   - and less each time: the block that follows one that expired is as large as
//     what was spent of it. A process whose traffic ends, or falls to one request a
//     lifetime, strands one block in all, and from then on takes tokens one by one.
//
// With n processes no more than n blocks of a key are stranded at a time, and by
// the second law never more than burst + ⌊rate·lifetime⌋ tokens.
//
// # The size of a block
//
// A key's first block is one token, so that a key seen once costs what it does
// without leases, and strands nothing. A whole block that is used up within half
// its lifetime is followed by one twice as large, up to the maximum. One that is
// used up later is followed by one of its own size; one that expires, by one of
// what was spent of it. So the size settles where a block lasts between half a
// lifetime and one: one or two round trips in a lifetime, whatever the demand,
// while the maximum permits.
//
// # Decisions
//
// A [gcra.Decision] speaks of the shared bucket as this process knows it: as the
// store told it with the last block, refilled since then, and with what is left of
// the block, which others cannot have.
//
//   - Limit is the shared limit, as of the last answer: a change of it is seen with
//     the next one.
//   - Remaining is more than a request can count on where other processes took
//     tokens since. It is exact if none did.
//   - RetryAfter of a refusal is, for the same reason, when the request may pass at
//     the earliest: who comes back then makes the store be asked again.
//   - Where the store was emptied by a block, or empty, RetryAfter is at least a
//     hundredth of a lifetime from then, or half of the time in which the bucket
//     fills, if that is less; until then it is not asked for the key again. So a
//     key whose tokens are in demand is asked about a hundred times a lifetime, not
//     for each token that comes, and none of them is lost by that.
//   - A refusal is remembered: while the bucket, as known, could not grant a
//     request even if nobody else asked, it is refused here, without a round trip;
//     for at most a lifetime, so that what another process gave back or reset is seen
//     no later.
//
// # Large requests
//
// A request that is larger than what is left of the block takes out what is left,
// so that nobody else counts on it, and asks the store for the rest: for a
// block, but at least the rest or nothing. If it is granted, the request takes
// its rest of the new block and publishes what remains; there is one block at any
// time. If it is refused, what was taken out is put back, for smaller requests
// and until it expires. So no token is in two places, none is lost, and a refused
// request has charged nothing. (To ask for all of it and let the old block lie
// would make two blocks, of which neither may suffice for the next request; to take
// whatever the store has would charge the bucket for requests that are refused.)
// While it is out, smaller requests wait for that answer.
//
// # One asks
//
// Of many who find a block used up, one asks the store, in its own call and with its
// own context; the others wait for the answer, or until their contexts end.
// If the store fails, they share the error, and if only the context of the one who
// asked ended, the next of them asks. There is no goroutine, no finalizer and no
// timer but that of a context.
//
// # When the store fails
//
// Its failure policy decides, and its errors come through. What is leased
// already is spent until it expires. An answer that takes longer than the lifetime
// is not waited for: its tokens would be expired. If it was charged, they are
// lost, as those of a killed process are.
//
// # Memory
//
// A key that nobody asked about for a lifetime is forgotten, two at each new key.
// [WithMaxKeys] bounds their number; a key for which there is no room is decided by
// the store each time.
//
// # What it does not do
//
// It does not wait for tokens, book slots or go into debt: use the store for those,
// beside the leases, on the same keys. Limits that never refill are
// not leased, since an expired token would be lost for good, and unlimited ones need no
// lease: both go to the store each time. It is not fair between requests of
// different sizes, or between processes.
package lease
