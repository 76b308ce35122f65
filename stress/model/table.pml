/*
 * The takeover of slots in shard.Table: three keys, and a block of two slots,
 * which any of them may have. With GENS > 1 SetLimit makes a second block.
 *
 * Three actors, each with one or two operations, in every combination; a clock
 * that goes on whenever it likes. Each step (a d_step that begins with the
 * actor's pc) is one atomic operation of the code, and what follows from it
 * without looking again.
 *
 *	steps				code
 *	CLOCK BLOCK OLD_BLOCK		takeAt and book; Table.current, lookup
 *	SINCE .. SET_FRESH		Core.settle
 *	FIND_HASH FIND_TAT		block.find
 *	LOAD HASH STAMP SWAP LOAD_AGAIN	slot.decide, slot.book
 *	ABSENT IN_FORCE			a key without a slot
 *	LOCK CHECK SCAN_HASH SCAN_TAT	Table.insert, reset, giveBack; block.scan
 *	CLOCK_AGAIN STAMP_AGAIN DECIDE	Table.insert
 *	PICK PICK_MARK CLAIM		block.claim, usable: with any slot first
 *	STORE_HASH STORE_TAT UNLOCK	Table.insert
 *	LOWER_TAT .. LOWER_AGAIN DRAW	Table.reset, giveBack
 *	MARK MARK_SWAP LOWER		block.lower, sparse.raise
 *	NOTE NOTE_SWAP			the stamp of a reset
 *	SETTLE SETTLED			Reservation.Settle
 *	SETTING .. DROP_OLD		Table.SetLimit, publish (tablechange.pml)
 *	BRING .. BROUGHT		Table.bring
 *
 * What is asked of it: overdrawn, lost and unearned, for each key, are told in
 * ledger.pml; other_key is a swap in another key's slot, twice a key in two
 * slots, foreign a refusal by a TAT that was not the key's, across a booking that
 * comes back from before a reset or a change, twice_back and returned_more are of
 * a booking; and Spin asks that nobody stands still for ever, nor, in the acyclic
 * checks, turns in circles until somebody else has done something.
 *
 * Left out: which slots a hash may have (here all), so that find's shortcut by an
 * unused slot is too; the search for the roomiest bucket, which only orders the
 * slots; the policy; Wait's schedule, and the raise of strict mode and of Move,
 * which is the same TAT, hash, swap; what a Peek says of a key that has no slot.
 * The hash of an old block's slot is loaded with its TAT: it cannot change.
 * Memory is sequentially consistent, as Go's sync/atomic is. With more than one
 * generation a booking gets its slot now or not at all. Each M_ is a mutant.
 */
#define KEYS 3
#ifdef LOADED
#define FIRST_LEVEL(key) ((key) == 0 -> B0 * SHARES : START * SHARES)
#else
#define FIRST_LEVEL(key) (START * SHARES)
#endif

#include "ledger.pml"

#define MAYWAIT		(GENS == 1 && op == BOOK)	/* a booking may get a later slot */

#define CLAIMED		254	/* TATs: a slot that is being written, */
#define GONE		255	/* and one whose key was brought over */
#define HASHES(b, i)	hash[(b) * 2 + (i)]
#define TATS(b, i)	tat[(b) * 2 + (i)]
#define MARKS(b, i)	mark[(b) * 2 + (i)]
#define NOTES(b, i)	note[(b) * 2 + (i)]
#ifdef ONE_STRIPE
#define STRIPE(h)	0
#else
#define STRIPE(h)	((h) / 2)	/* of key 1; of keys 2 and 3 */
#endif

#define END		0
#define TAKE		1
#define PEEK		2
#define BOOK		3
#define CANCEL		4
#define RESET		5
#define CHANGE		6
#define OP(kind, h, n)	((kind) * 16 + (h) * 4 + (n))

/* What mutants change. */
#ifdef M_UNLOCKED
#define UNLOCKED	1
#elif defined(M_GIVES_UNLOCKED)
#define UNLOCKED	(op == CANCEL)
#else
#define UNLOCKED	0
#endif
#ifdef M_BRINGS_UNLOCKED
#define BRINGS_UNLOCKED	1
#else
#define BRINGS_UNLOCKED	0
#endif
#ifdef M_TAKES_AT_NOW
#define OVERDUE(t, at)	((t) <= (at))
#else
#define OVERDUE(t, at)	((t) < (at))
#endif
#ifdef M_FRESH_UNTESTED
#define FRESH_IN_TIME(g, at) 1
#else
#define FRESH_IN_TIME(g, at) (fresh[g] < AT(g, at))
#endif
#if defined(M_MARK_UNREAD)
#define PASSED(m, at)	1
#elif defined(M_MARK_NOT_STRICT)
#define PASSED(m, at)	((m) <= (at))
#else
#define PASSED(m, at)	((m) < (at))
#endif
#ifdef M_HASH_BEFORE_SWAP
#define CLAIMS		STORE_HASH
#else
#define CLAIMS		CLAIM
#endif
#ifdef M_MARKS_NEXT
#define MARK_TO		x
#else
#define MARK_TO		w
#endif
#ifdef M_MARK_STORED
#define MARKS_PLAINLY	1
#else
#define MARKS_PLAINLY	0
#endif
#ifdef M_UNNOTED
#define NOTES_NEXT	UNLOCK
#else
#define NOTES_NEXT	NOTE
#endif
#if defined(M_MARK_AFTER)
#define LOWERS		LOWER
#define MARKED		(op == RESET -> NOTE : UNLOCK)
#elif defined(M_UNMARKED)
#define LOWERS		LOWER
#define MARKED		LOWER
#else
#define LOWERS		MARK
#define MARKED		LOWER
#endif
#ifdef M_STORE
#define MISSED(changed, which) ((changed) && (which) != M_STORE)
#else
#define MISSED(changed, which) (changed)
#endif
#define M_CHARGE	1
#define M_CLAIM		2
#define M_LOWER		3
#define M_BRING		4

byte hash[GENS * 2], tat[GENS * 2], mark[GENS * 2], note[GENS * 2];
byte resets;
bit stripe[2];
bit setting, has_old[GENS], brought[GENS * 2];
byte done;

typedef booking { byte key, gen, from, slot, end1, cost, date, stamp; bit held, settled, back, reset };
booking booked[3];

hidden byte other_key, twice, foreign, twice_back, across;

/* A key lives in one slot. */
inline alone(h1) {
	h_i = 0; h_x = 0;
	do
	:: h_i == GENS * 2 -> break
	:: else -> h_x = h_x + (hash[h_i] == h1 && tat[h_i] > 0 && tat[h_i] < CLAIMED); h_i++
	od;
	twice = h_x > 1;
	assert(!twice)
}

/* A grant over a TAT. */
inline grant(t) {
	decide(t, g, at, n, MAYWAIT);
	if
	:: op == BOOK ->
		booked[me].key = h;
		booked[me].gen = g;
		booked[me].from = h_date;
		booked[me].slot = h_slot;
		booked[me].date = MAX(h_slot, reset_at[h - 1]);	/* in the log */
		booked[me].end1 = x;
		booked[me].cost = n * K(g);
		booked[me].stamp = stamp;
		booked[me].held = 1
	:: else
	fi;
	spend(h - 1, g, h_slot, n)
}

inline inserted() {
#ifndef M_TAT_BEFORE_HASH
	alone(h);
#endif
	grant(fresh[g])
}

/* What is refused, or looked at, is judged by a TAT of the key. */
inline refused() {
	foreign = !own;
	assert(!foreign)
}

/* What an operation makes of the TAT w. */
inline judge() {
	decide(w, g, at, n, MAYWAIT);
	if
	:: h_ok && op != PEEK ->
		x = h_t;
#ifdef M_STAMP_AFTER_SWAP
		pc = SWAP
#else
		if :: op == BOOK -> pc = STAMP :: else -> pc = SWAP fi
#endif
	:: else ->
#ifdef M_DECIDES_ONCE
		refused(); finish()
#else
		pc = LOAD_AGAIN
#endif
	fi
}

inline next_pick() {
	w = 0; s = 1 - s; looked++;
	if :: looked == 2 -> unlock(); finish() :: else -> pc = PICK fi	/* no room: refused */
}

/* What a reset, or a give-back of the booking stamp, lowers the TAT to. */
inline lower_to(back) {
	if
	:: back ->
		give_back(w, g, at, booked[stamp].cost, booked[stamp].from, booked[stamp].slot, booked[stamp].end1, n);
		x = w - h_x
	:: else -> x = MIN(w, MAX(fresh[g], AT(g, at)))
	fi
}

inline lower_again() {
	w = 0; x = 0; at = 0;
	if
	:: op == RESET -> stamp = 0; first_slot(SCAN_HASH)
	:: else -> pc = CHECK
	fi
}

inline lower_gone() {
	if :: op == RESET -> lower_again() :: else -> unlock(); finish() fi
}

inline lowered() {
	if
	:: op == RESET ->
		forgive((h - 1), at);
		h_i = 0;
		do
		:: h_i == 3 -> break
		:: else -> if :: booked[h_i].held && booked[h_i].key == h -> booked[h_i].reset = 1 :: else fi; h_i++
		od
	:: else ->
		across = booked[stamp].reset || booked[stamp].gen != cur;
		assert(!across);
		twice_back = booked[stamp].back;
		assert(!twice_back);
		booked[stamp].back = 1;
		h_x = w - x;
		returned_more = (h_x > booked[stamp].cost);
		assert(!returned_more);
		unspend(h - 1, booked[stamp].gen, booked[stamp].date, h_x)
	fi
}

inline converted() { x = w; forward(x, (g - 1), g) }

inline next_bucket() {
	w = 0; x = 0; s++;
	if
	:: s < 2 -> pc = BRING
	:: s == 2 && op == CHANGE -> s = 0; brings = 0; pc = DROP_OLD
	:: else -> first_slot(FIND_HASH)
	fi
}

#include "tablesteps.pml"

/* The programs of an actor: one or two operations. */
inline program(p, first, second) {
	second = 0;
	if
	:: p == 15 -> first = 0
#if GENS == 1
	:: p == 0 -> first = OP(BOOK, 1, 2); second = OP(CANCEL, 1, 3)
	:: p == 1 -> first = OP(BOOK, 1, 1); second = OP(CANCEL, 1, 3)
	:: p == 2 -> first = OP(TAKE, 1, 1)
	:: p == 3 -> first = OP(TAKE, 3, 1)
	:: p == 4 -> first = OP(PEEK, 3, 1)
	:: p == 5 -> first = OP(RESET, 1, 0)
	:: p == 6 -> first = OP(TAKE, 1, 2)
	:: p == 7 -> first = OP(CANCEL, 1, 3)
	:: p == 8 -> first = OP(TAKE, 2, 1)
	:: p == 9 -> first = OP(BOOK, 3, 1); second = OP(CANCEL, 3, 3)
	:: p == 10 -> first = OP(BOOK, 1, 2); second = OP(CANCEL, 1, 1)
	:: p == 11 -> first = OP(TAKE, 1, 1); second = OP(TAKE, 1, 1)
#else
	:: p == 0 -> first = OP(TAKE, 1, 1)
	:: p == 1 -> first = OP(CHANGE, 0, 0)
	:: p == 2 -> first = OP(TAKE, 3, 1)
	:: p == 3 -> first = OP(BOOK, 1, 1); second = OP(CANCEL, 1, 3)
	:: p == 4 -> first = OP(RESET, 1, 0)
	:: p == 5 -> first = OP(TAKE, 1, 2)
	:: p == 6 -> first = OP(CHANGE, 0, 0); second = OP(CHANGE, 0, 0)
#endif
	fi
}
#if GENS == 1
#ifndef MOST
#define MOST 5
#endif
#else
#ifndef MOST
#define MOST 4
#endif
#endif

#ifndef LEAST
#define LEAST 0
#endif

/* Changes are one fewer than generations. */
inline count_changes(f, s) {
	h_i = h_i + (f / 16 == CHANGE) + (s / 16 == CHANGE)
}

/* A key that was charged n tokens before. */
inline had(h1, i, n1) {
	tat[i] = fresh[0] + (n1) * K0;
	hash[i] = h1;
	spend((h1 - 1), 0, 1, (n1))
}

init {
	byte p = LEAST, f[3], s[3];
	atomic {
		TELL
		since[0] = 1;
		fresh[0] = 1 + (B0 - START) * K0;
		resets = 1;
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
		/* Slots that are unused, or full of keys that owe. */
		if
#ifdef LOADED
		:: d_step { 1 -> tat[0] = 1; hash[0] = 1 }
#else
		:: 1
		:: d_step { 1 -> had(1, 0, 1); had(2, 1, 1) }
		:: d_step { B0 > 1 -> had(1, 0, B0); had(2, 1, 1) }
#endif
		fi;
		run actor(0, f[0], s[0]);
		run actor(1, f[1], s[1]);
		run actor(2, f[2], s[2]);
		d_step { p = 0; f[0] = 0; f[1] = 0; f[2] = 0; s[0] = 0; s[1] = 0; s[2] = 0 }
	};
	atomic {
		done == 3 -> p = 1;
		do
		:: p > KEYS -> break
		:: else ->
			d_step {
				alone(p);
				h_t = fresh[cur];
				if :: HASHES(cur, 0) == p && TATS(cur, 0) < CLAIMED -> h_t = TATS(cur, 0) :: else fi;
				if :: HASHES(cur, 1) == p && TATS(cur, 1) < CLAIMED -> h_t = TATS(cur, 1) :: else fi;
				audit(p - 1);
				p++
			}
		od
	};
stop:	skip
}
