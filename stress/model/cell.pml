/*
 * The life of a key's cell in the map of shard.Limiter: charge, refuse, freeze,
 * drop, insert again, give back, reset, change of limit, sweep.
 *
 * Three actors, each with one or two operations, in every combination; a clock
 * that goes on whenever it likes. Each step (a d_step that begins with the
 * actor's pc) is one atomic operation of the code, and what follows from it
 * without looking again. Compute of the map is a lock, taken with the loading of
 * the entry, which changes only under it; a decision loads the entry without.
 *
 *	steps				code
 *	CLOCK ENTRY GENERATION FOUND	Limiter.find and book; Core.Current
 *	SINCE .. SET_FRESH		Core.settle
 *	LOAD SWAP			Cell.Take, Cell.Book
 *	ABSENT BALANCE			takeNew, bookNew
 *	LOCK OLD .. INSERT UNLOCK	Limiter.insert and again
 *	FREEZE_LOAD FREEZE_SWAP		Cell.Freeze
 *	JUDGE KILL DELETE		bin.forget, Cell.Forget
 *	DEATH FULL RESET_SWAP		Limiter.Reset, Cell.Reset
 *	RENEW RENEWED CONVERT		Limiter.renew
 *	SETTLE .. CANCEL_SWAP		Reservation.Settle, Core.giveBack
 *	PUBLISH .. WALKED		Core.SetLimit, Limiter.SetLimit
 *
 * What is asked of it: overdrawn, lost and unearned are told in ledger.pml; twice
 * is a cell that leaves the map and can still be charged, so that the key has
 * two; twice_back and returned_more are of a booking; and Spin asks that nobody
 * stands still for ever. The graph of states has no cycle (the acyclic checks),
 * so nobody turns in circles until somebody else has done something, either.
 *
 * Left out: the link from a generation to the next, which is set before anybody
 * can find the next one; the cap, the list of keys and the counters, on which no
 * decision on a present key depends; Wait's schedule, which rests on arithmetic
 * only; atomic.Limiter's pointer, which package stress searches. Memory is
 * sequentially consistent, as Go's sync/atomic is. With more than one generation
 * a booking gets its slot now or not at all: who sleeps keeps his slot across a
 * change, which is no matter of the window law. Each M_ below is a mutant.
 */
#define KEYS 1
#ifndef NCELLS
#define NCELLS 5
#endif
#ifndef WAITS
#define WAITS 0			/* bookings may get later slots */
#endif
#define MAYWAIT		(WAITS && op == BOOK)

#ifdef LOADED
#define FIRST_LEVEL(key) (B0 * SHARES)
#else
#define FIRST_LEVEL(key) (START * SHARES)
#endif

#include "ledger.pml"

#define NONE		255
#define DEAD		128	/* the sign bit alone; with a TAT it is a frozen cell */
#define FROZEN(tat)	(DEAD + (tat))
#define VALUE(w)	((w) & 127)

/* What mutants change in more than one place. */
#ifdef M_PARITY
#define SAME(a, b)	(((a) & 1) == ((b) & 1))
#else
#define SAME(a, b)	((a) == (b))
#endif
#ifdef M_FROZEN_IS_DEAD
#define NOCELL(w, of, g) ((w) >= DEAD)
#elif defined(M_RESET_KEEPS)
#define NOCELL(w, of, g) ((w) == DEAD || ((w) > DEAD && SAME(of, g)))
#else
#define NOCELL(w, of, g) ((w) == DEAD)
#endif
#define ISDEAD(w)	NOCELL(w, cg, g)
#if defined(M_CHARGES_FROZEN)
#define UNCHARGEABLE(w)	((w) == DEAD)
#elif defined(M_CHARGES_DEAD)
#define UNCHARGEABLE(w)	((w) > DEAD)
#else
#define UNCHARGEABLE(w)	((w) >= DEAD)
#endif
#ifdef M_IGNORES_FRESH
#define LATE_FRESH(g, at) 0
#else
#define LATE_FRESH(g, at) (fresh[g] > AT(g, at))
#endif
#ifdef M_DELETES_ALIVE
#define DELETES_ALIVE	1
#else
#define DELETES_ALIVE	0
#endif
#ifdef M_CANCEL_ELSEWHERE
#define ANOTHER(g, of)	0
#else
#define ANOTHER(g, of)	((g) != (of))
#endif
#ifdef M_CANCELS_DEAD
#define RETURNABLE(w)	VALUE(w)
#else
#define RETURNABLE(w)	(w)
#endif
/* A compare-and-swap misses if the word is another; the store that a mutant has
   in its place never does. */
#ifdef M_STORE
#define MISSED(changed, which) ((changed) && (which) != M_STORE)
#else
#define MISSED(changed, which) (changed)
#endif
#define M_TAKE		1
#define M_FREEZE	2
#define M_KILL		3
#define M_RESET		4
#define M_CANCEL	5

#define END		0
#define TAKE		1
#define BOOK		2
#define CANCEL		3
#define SWEEP		4
#define RESET		5
#define CHANGE		6
#define OP(kind, n)	((kind) * 4 + (n))

byte entry = NONE;		/* the map: the key's cell */
bit maplock, setlock;
byte word[NCELLS], gen[NCELLS];	/* gen is written before the cell is published */
byte cells;			/* made so far */
byte done;

typedef booking { byte cell, gen, from, slot, end1, cost, date; bit held, settled, back };
booking booked[3];

hidden byte twice, twice_back;

/* Whoever takes a cell out of the map leaves none behind that can be charged. */
inline replace(with) {
	twice = (entry != NONE -> word[entry] < DEAD : 0);
	assert(!twice);
	entry = with
}

inline put(g1, tat) {
	assert(cells < NCELLS);
	word[cells] = tat;
	gen[cells] = g1;
	replace(cells);
	cells++
}

/* balance of package shard; the result in h_t. */
inline balance(c1, cg1, g1) {
	if
	:: c1 == NONE -> h_t = fresh[g1]
	:: else ->
		if
		:: NOCELL(word[c1], cg1, g1) -> h_t = fresh[g1]
		:: else -> h_t = VALUE(word[c1]); if :: SAME(cg1, g1) :: else -> forward(h_t, cg1, g1) fi
		fi
	fi
}

/* A grant into cell c1, as decide has just worked it out. */
inline grant(c1) {
	if
	:: op == BOOK ->
		booked[me].cell = c1;
		booked[me].gen = g;
		booked[me].from = h_date;
		booked[me].slot = h_slot;
		booked[me].date = MAX(h_slot, reset_at[0]);	/* in the log */
		booked[me].end1 = x;
		booked[me].cost = n * K(g);
		booked[me].held = 1
	:: else
	fi;
	spend(0, g, h_slot, n)
}

inline returned(c1, ticks) {
	twice_back = booked[c1].back;
	assert(!twice_back);
	booked[c1].back = 1;
	returned_more = (ticks > booked[c1].cost);
	assert(!returned_more);
	unspend(0, booked[c1].gen, booked[c1].date, ticks)
}

/* Goes on after a renewal: a reset tries again, a change is done. */
inline renewed() {
	w = 0;
	if
	:: op == RESET -> at = 0; take_cell(NONE); g = 0; x = 0; pc = CLOCK
	:: else -> finish()
	fi
}

#include "cellsteps.pml"

/* The programs of an actor: one or two operations. */
inline program(p, first, second) {
	second = OP(END, 0);
	if
#if GENS == 1
	:: p == 0 -> first = OP(BOOK, 1); second = OP(CANCEL, 3)
	:: p == 1 -> first = OP(BOOK, 2); second = OP(CANCEL, 3)
	:: p == 2 -> first = OP(BOOK, 2); second = OP(CANCEL, 1)
	:: p == 3 -> first = OP(TAKE, 1)
	:: p == 4 -> first = OP(TAKE, 2)
	:: p == 5 -> first = OP(CANCEL, 3)
	:: p == 6 -> first = OP(SWEEP, 0)
	:: p == 7 -> first = OP(RESET, 0)
#else
	:: p == 0 -> first = OP(TAKE, 1)
	:: p == 1 -> first = OP(TAKE, 2)
	:: p == 2 -> first = OP(BOOK, 2); second = OP(CANCEL, 3)
	:: p == 3 -> first = OP(SWEEP, 0)
	:: p == 4 -> first = OP(RESET, 0)
	:: p == 5 -> first = OP(CHANGE, 0)
	:: p == 6 -> first = OP(CHANGE, 1)
	:: p == 7 -> first = OP(CHANGE, 0); second = OP(CHANGE, 0)
	:: p == 8 -> first = OP(TAKE, 2); second = OP(TAKE, 1)
#endif
	fi
}
#ifndef MOST
#define MOST 7
#endif

#ifndef LEAST
#define LEAST 0
#endif

/* Changes are one fewer than generations. */
inline count_changes(f, s) {
	h_i = h_i + (f / 4 == CHANGE) + (s / 4 == CHANGE)
}

init {
	byte p = LEAST, f[3], s[3];
	atomic {
		TELL
		since[0] = 1;
		fresh[0] = 1 + (B0 - START) * K0;
		/* Every triple, in one order only, as actors are alike. */
#ifdef P0
		program(P0, f[0], s[0]);
		program(P1, f[1], s[1]);
		program(P2, f[2], s[2]);
#else
		do :: p < MOST -> p++ :: break od;
		program(p, f[0], s[0]);
		do :: p < MOST -> p++ :: break od;
		program(p, f[1], s[1]);
		do :: p < MOST -> p++ :: break od;
		program(p, f[2], s[2]);
#endif
		h_i = 0;
		count_changes(f[0], s[0]);
		count_changes(f[1], s[1]);
		count_changes(f[2], s[2]);
		if :: h_i >= GENS -> goto stop :: else fi;
		/* The key was never seen, or is charged already, or loaded. */
		if
		:: 1
#if defined(LOADED)
		:: d_step { 1 -> put(0, 1) }
#elif !defined(UNSEEN)
		:: d_step { 1 -> spend(0, 0, 1, 1); put(0, fresh[0] + K0) }
		:: d_step { B0 > 1 -> spend(0, 0, 1, B0); put(0, fresh[0] + B0 * K0) }
#endif
		fi;
		run actor(0, f[0], s[0]);
		run actor(1, f[1], s[1]);
		run actor(2, f[2], s[2]);
		d_step { p = 0; f[0] = 0; f[1] = 0; f[2] = 0; s[0] = 0; s[1] = 0; s[2] = 0 }
	};
	d_step {
		done == 3 ->
		if
		:: entry == NONE -> h_t = fresh[cur]
		:: else -> balance(entry, gen[entry], cur)
		fi;
		audit(0)
	};
stop:	skip
}
