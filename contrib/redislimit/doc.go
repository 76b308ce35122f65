// Package redislimit limits rates over many processes that share a Redis, a Valkey
// or a cluster of them: one script, one round trip a decision, one short string a
// key, and the same exact arithmetic as package gcra.
//
//	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
//	limiter, err := redislimit.New(client, gcra.PerSecond(100).Burst(20), redislimit.Local(1, 4))
//	if err != nil {
//		return err
//	}
//	d, err := limiter.Take(ctx, userID, 1)
//	if err != nil || !d.OK() {
//		return refuse(d.RetryAfter(), err)
//	}
//
// A Limiter is what package httplimit asks for, as it is. Decisions are those of
// package gcra, and methods those of the limiters of package shard, with a context
// before the key and an error behind the result.
//
// # What holds
//
//   - Window: no window of length w, by Redis' clock, sees more than burst + ⌊w·rate⌋
//     tokens of a key, over all processes. Clients' clocks decide nothing.
//   - Exact: a token takes m/d µs, as integers; a TAT is whole µs and d-ths of one,
//     so no rate is rounded, up to limits that New refuses. Every decision equals
//     the exact rational bucket's at the microsecond in which Redis made it.
//   - Once: no request is charged twice because an answer failed to come. The
//     client's own retries are off for the script. See Unavailable.
//   - A refusal, a Peek and a cost of 0 write nothing, but for what is due from an
//     outage under Local. A key expires when its bucket is full, not before, and
//     a second after it was written at the earliest.
//   - Nothing comes back of a booking across a Reset, a change of limit or the
//     key's expiry: each bucket has a stamp, and who gives back shows it.
//   - Bounded memory here: refusals of 16 384 keys, and under Local the buckets of
//     65 536 keys. No goroutine, and no timer but those of calls and waiters.
//
// # The value
//
// A key holds one string of five words, such as
//
//	61432189000123 40 61432188500000 1x9f0c2m7k2aq 1000000:99:99:0
//
// the TAT in µs since 2025 and d-ths, the instant of the last write, the stamp, and
// the limit that it was written under: m, d, burst, step in µs. A token of 99/s takes
// 1000000/99 µs. The script works in numbers below 2^53, which Lua's doubles hold
// exactly; where it has to multiply and divide, in changes of limit only, it does so
// by shift and add.
//
// Redis 5 or later, or Valkey, is needed: earlier ones refuse a script that asks the
// time and writes. So is an eviction policy that spares these keys, or memory
// enough: a key that is evicted has a full bucket.
//
// # Two limits, one key
//
// Limiters with the same prefix share their keys' buckets. If their limits differ,
// as while a new version is rolled out, each carries a value that the other wrote
// over to its own limit: tokens stay, the fraction of one included, at most its own
// burst, and so does debt. A limiter knows since when it has its limit, by Redis'
// clock; a value is carried over as of then, or as of its last write if that was
// later. So a change is one change, and processes that go on under the old limit
// after it cost nobody tokens and give nobody any. What cannot be told is what a
// key that is not there had under another process' limit: it is full.
//
// For two limits of one user give two limiters different prefixes. [Join] decides on
// them together if the keys are in one hash slot: prefixes and keys as in
// "second:{" + user + "}" and "hour:{" + user + "}".
//
// # Unavailable
//
// A call that does not come back within WithTimeout, breaks off, or is answered by a
// server that decides nothing (out of memory, loading, read only, without a quorum)
// is a failure. After one nobody asks for 100 ms, doubling to 2 s while failures go
// on; then one caller does, with its own request, and everybody else is decided by
// the policy without waiting. Clients of several servers are watched by 64 ranges of
// hash slots, so one node of a cluster takes its own keys with it, and of the others
// at most those in a range that it shares. A Ring spreads keys by another hash, so
// there a server that is down takes more with it, until the Ring leaves it out.
//
// The caller's deadline ends a call too, as far as the client heeds it; that he
// cancels is seen before a Client of one server is asked, and not meanwhile.
//
// Whether the request that failed was charged is not known: a server that is slow
// may still do it. Then
//
//   - under Closed it is refused, and may have cost the key its tokens;
//   - under Open it is granted, and may have been charged as well, as it should;
//   - under Local it is charged here, and there too if it arrived: at most the
//     requests that were under way when the server failed, and one a back-off.
//
// Never is it granted twice, nor sent again. A give-back that failed is lost, until
// the limit has refilled it.
//
// Under Local each process goes on with its share of the limit. What the local bucket
// of a key has not refilled when Redis is back is charged there by the first
// decision about the key, in the same call, and stays due here until that call is
// answered; if it was not answered but done, it is charged twice. The bucket in
// Redis refilled meanwhile too, if it was not full: so a window that contains an
// outage of length t sees, where the shares add up to one, at most t·rate tokens
// more than otherwise, and not more than one burst; one burst if Redis comes back
// empty, when its buckets are full but for what is due.
//
// A failover to a server whose clock is behind: until it has caught up there is no
// credit, but for values whose TAT is further ahead than any of this limit's could be
// (fill time, debt and WithMaxWait): what was missing when they were written is
// missing now. Replication is asynchronous, so the last charges may be gone; that is
// Redis' promise, not this package's to mend.
//
// # Refused again
//
// A refusal is remembered for as long as it holds, at most WithMemory, and who asks
// again in vain does not go to Redis; its numbers are then those of the first
// refusal, less the time that passed, and others may have taken more since. What this
// limiter gives back, resets or changes is seen at once, and what other processes do
// when that is over.
//
// # What it does not do
//
// It keeps no tokens here between calls: package lease does, for rates at which a
// round trip each is too much. It has no Allow, which would hide the error. It does
// not spread one key over several servers, and no joint spans hash slots. Slots are
// given in the order in which bookings reach Redis, and whoever waits counts from
// the answer, so he is late by the way back, never early. With WithCatchUp Wait keeps
// to the schedule as that of package atomic does, but for its strict form: with 0 the
// next slot is an interval after the last slot, not after the wake-up.
package redislimit
