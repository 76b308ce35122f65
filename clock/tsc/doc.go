// Package tsc is a clock on the processor's time stamp counter: cheaper than
// [time.Since], no system call and no lock, and within microseconds of the
// system's monotonic clock.
//
//	var clk clock.Clock = clock.System()
//	if c, err := tsc.New(); err == nil {
//		clk = c
//	}
//	limiter := atomic.NewLimiter(gcra.PerSecond(1_000_000), atomic.WithClock(clk))
//
// System stays the default: it is right everywhere, and the difference matters
// only to who decides millions of times a second. The counter is read with
// github.com/loov/hrtime, which measures itself when it is imported. That is why
// this is a package of its own: it costs every program that imports it 50 to 90
// µs at its start, whether it calls New or not (GODEBUG=inittrace=1, seven runs,
// Xeon at 2.6 GHz, Go 1.26.8).
//
// # How it works
//
// The clock draws lines. A line holds for a life of 2^27 counts, 52 ms at 2.6
// GHz, and maps them to readings by a multiplication and a shift. The reading
// that finds the line over pays for the next one: it samples the counter and the
// system's clock at one moment, and draws from there to where the system's clock
// will be after a life.
//
//   - A line never reads less than its begin or more than its end, whatever the
//     counter does, and the next one begins at that end or above. So the readings
//     of different lines do not overlap, and nobody has to agree on when the new
//     one comes into force: who still reads the old one reads no more than who
//     already reads the new.
//   - Where the clock is behind the system's, the next line begins higher: it
//     steps up. Where it is ahead, the next line begins where the old one ended
//     and goes less far: it is slewed. Either way it is right at the line's
//     end, if the counter keeps its rate.
//   - The rate is learnt: a sixteenth of what the last life was off. More than
//     0.1 % off is a disturbance, from which nothing is learnt, unless the next
//     life is off by the same.
//
// Now reads the counter, then which line is current, then that line, then whether
// it is still current. The compare-and-swap that makes a line current publishes
// its numbers. The second look finds out that the slot was used again meanwhile:
// lines live in eight slots and are never allocated. A goroutine that is
// stopped while it draws keeps a slot and stops nobody: who comes next draws in
// another. Only if seven are stopped so at once does the clock stand, at the
// line's end, until one of them goes on.
//
// # Never less than before
//
// Let call A return before call B begins. If both used one line, B read the
// counter after A, and a line does not fall. If they used two, B's is the later
// one, because A had seen its own as current before; and all that B's line reads
// is at or above all that A's does. So all that is asked of the counter is not to
// fall, on whatever core it is read.
//
// Processors keep that but for some nanoseconds by which counters that the kernel
// holds for equal may differ from core to core. The instruction is the one that
// waits for the loads before it (RDTSCP). The one that does not costs 6 ns less,
// and while the cache line with what another goroutine wrote is on its way from
// the other core, the counter was read already: Now returned less than had just
// been read and handed over in 11 runs of 40, by 0.5 µs at most.
//
// # How far from the system's clock
//
// While nothing happens to the machine: within 50 µs of it in the first 60 lives
// (New accepts 244 ppm, which are 13 µs of a life at 2.6 GHz and 33 at 1 GHz),
// then within a microsecond or two, half of the widest sample that is accepted at
// once. In four minutes, with both cores kept busy for half of them, it was never
// more than 0.12 µs ahead or 0.47 behind (TestLong with -long 4m). While the
// kernel slews its own clock, by at most 500 ppm, this one is late by a life in
// following, which makes 26 µs.
//
// If the counter jumps ahead, because the machine slept or was moved to another
// host, the clock is ahead by one life at most, and right again at the end of the
// next. If the counter stops, so does the clock; when it goes on, the clock is
// behind until the line ends. If the counter goes back to before the line's
// begin, the next line begins at once, at the old one's end. If it goes back
// less far, the clock goes back with it, by less than a life; this alone breaks
// the promise, and an invariant counter does not do it. At another
// frequency the clock is off by a part of a life until it has learnt that, in
// three lives. The tests live through days of all this.
//
// So the law of the window (L1) holds in the instants that were used, as with any
// clock; in real time the window is longer by the distances at its two ends:
// burst + rate·(w + 4 µs) tokens, and w + 2 lives through a disturbance.
// RetryAfter is off by as much.
//
// # What a reading costs
//
//	counter   14 ns  hrtime.RDTSCP, alone
//	tsc       17 ns  and 125 for the one in a life that draws a line
//	System    22 ns
//
// (Medians of five runs of go test -bench 'Now|Renew' ./clock/tsc, Xeon at 2.6 GHz,
// Go 1.26.8.) Some 20 readings a second draw a line: at 20 000 readings a second
// and more they lie beyond the 99.9th percentile. A limiter that is asked less than
// 20 times a second draws one at every decision, and is better off with System.
//
// # What it does not do
//
// It starts no goroutine and sleeps nowhere: Wait uses the runtime's timers. It
// does not follow the time of a testing/synctest bubble: New fails in one, and a
// Clock from outside must not be read in one, where the system's time is
// another. It is not there ([ErrUnsupported]) on processors other than amd64, on
// those without an invariant counter, where Linux has found the counters to
// differ, and where the system's clock moves in steps, as Go's does on Windows.
package tsc
