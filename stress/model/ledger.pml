/*
 * What both models share: the clock, the generations of the limit, GCRA, and
 * the ledger that grants are checked against. Written from rules.md and from
 * packages gcra and atomic, and from nothing in package stress.
 *
 * Instants are ticks, and one reading of the clock is one tick (R = 1); the
 * first one is 1. A generation g grants a token every K(g) ticks, BURST(g) at
 * once. What is left out: rounding of readings and saturation, which have no
 * interleavings (package gcra tests them).
 *
 * The ledger knows nothing of words, cells or slots. It is the log of what was
 * granted, in shares of a token by generation and date, and is replayed on a
 * plain bucket. So "overdrawn" is law L1 for every window of the run at once,
 * and "lost" means that who looks at the key finds more than the log leaves.
 */

#ifndef GENS
#define GENS 1
#endif
#ifndef K0
#define K0 1
#endif
#ifndef K1
#define K1 1
#endif
#ifndef K2
#define K2 1
#endif
#ifndef B0
#define B0 1
#endif
#ifndef B1
#define B1 B0
#endif
#ifndef B2
#define B2 B0
#endif
#ifndef LAST
#define LAST 3		/* the last instant that the clock reaches */
#endif
#ifndef STEP
#define STEP 1		/* how far it goes at once */
#endif
#ifndef DATES
#define DATES 10	/* and all slots lie before this one */
#endif
#ifndef START
#define START B0	/* tokens of a key never seen */
#endif

#if GENS == 1
#define K(g)		K0
#define BURST(g)	B0
#elif GENS == 2
#define K(g)		((g) == 0 -> K0 : K1)
#define BURST(g)	((g) == 0 -> B0 : B1)
#else
#define K(g)		((g) == 0 -> K0 : ((g) == 1 -> K1 : K2))
#define BURST(g)	((g) == 0 -> B0 : ((g) == 1 -> B1 : B2))
#endif

#define SHARES		4	/* of a token; every K divides it */
#define MAX(a, b)	((a) > (b) -> (a) : (b))
#define MIN(a, b)	((a) < (b) -> (a) : (b))

byte now = 1;
byte cur;		/* the generation in force */
byte since[GENS];	/* its instant S; 0 is not read yet */
byte fresh[GENS];	/* the TAT of keys never seen; 0 is not worked out yet */

/* Scratch of one step, no part of the state. */
hidden int h_x, h_s, h_level, h_has, h_end;
hidden byte h_g, h_i, h_d, h_t, h_date, h_slot;
hidden byte h_ok;

/* The laws. Each is an assertion of its own. */
hidden byte overdrawn, lost, unearned, returned_more;

/* Which steps were ever taken: Spin does not tell that of a d_step. */
#ifdef COVER
hidden byte took[128];
c_code {
	static void tell(void) { int i; for (i = 0; i < 128; i++) if (took[i]) printf("took %d\n", i); }
}
#define TOOK(p)	took[p] = 1;
#define TELL	c_code { static int asked; if (!asked) { asked = 1; atexit(tell); } };
#else
#define TOOK(p)
#define TELL
#endif

/* The clock's hand. Who reads it may be held up for any time after. */
active proctype hand() {
end:	do
	:: now < LAST -> now = now + STEP
	od
}

/* gcra.Convert: d' = max(0, (B' - B) k' + max(0, tat - S) k' / k), rounded up. */
inline convert1(t, g1, s) {
	h_x = (BURST(g1 + 1) - BURST(g1)) * K(g1 + 1) +
		(t > s -> ((t - s) * K(g1 + 1) + K(g1) - 1) / K(g1) : 0);
	t = s + MAX(h_x, 0)
}

/* Generation.Forward: change by change, so that every burst between caps. */
inline forward(t, from, to) {
	h_g = from;
	do
	:: h_g >= to -> break
	:: else ->
		h_s = since[h_g + 1];
		if
		:: t <= h_s && fresh[h_g] <= h_s -> t = fresh[to]; h_g = to
		:: else -> convert1(t, h_g, h_s); h_g++
		fi
	od
}

/* The end of Core.settle: the same number from everybody. */
inline settle(g1) {
	if
	:: fresh[g1] == 0 ->
		h_t = fresh[g1 - 1];
		h_s = since[g1];
		convert1(h_t, g1 - 1, h_s);
		fresh[g1] = h_t
	:: else
	fi
}

/* Generation.At: nobody decides at an instant before S. */
#ifdef M_BEFORE_SINCE
#define AT(g, reading)	(reading)
#else
#define AT(g, reading)	MAX(reading, since[g])
#endif

/*
 * gcra.Take and gcra.Book of n tokens over a TAT: the TAT that follows, the slot
 * and whether it passes. A Take passes if its slot is not after its date.
 */
inline decide(tat, g1, reading, tokens, may_wait) {
	h_date = AT(g1, reading);
	h_t = MAX(tat, h_date) + tokens * K(g1);
	h_slot = (h_t > h_date + BURST(g1) * K(g1) -> h_t - BURST(g1) * K(g1) : h_date);
	h_ok = tokens <= BURST(g1) && (may_wait -> h_slot < DATES - 1 : h_slot == h_date)
}

/*
 * gcra.GiveBack of tokens of a booking, rule 15: leaves in h_x how many ticks
 * come back.
 */
inline give_back(tat, g1, reading, cost1, from1, slot1, last1, tokens) {
	h_date = AT(g1, reading);
	h_x = MIN(tokens * K(g1), cost1);
	if
#ifdef M_PART_EARLY
	:: h_date < slot1 && tat == last1 -> h_x = MIN(h_x, tat - h_date)
#else
	:: h_date < slot1 && h_x == cost1 && tat == last1 -> h_x = MIN(h_x, tat - h_date)
	:: h_date < slot1 && h_x < cost1 -> h_x = 0
#endif
	:: else ->
		if
#ifndef M_UNDER_WAITERS
		:: tat > h_date + BURST(g1) * K(g1) -> h_x = 0
#endif
#if defined(M_BELOW_NOW)
		:: else -> h_x = MIN(h_x, tat - 1)
#elif defined(M_PLAIN_MIN)
		:: else -> h_x = MAX(0, MIN(h_x, tat - h_date))
#elif defined(M_REFILLED_TOO)
		:: else -> h_x = MAX(0, MIN(h_x, MIN(cost1 - (h_date > slot1 -> h_date - slot1 : 0), tat - h_date)))
#else
		:: else -> h_x = MAX(0, MIN(h_x, MIN(cost1 - (h_date - from1), tat - h_date)))
#endif
		fi
	fi
}

#define SPENT(key, g, d)	spent[((key) * GENS + (g)) * DATES + (d)]
byte spent[KEYS * GENS * DATES];	/* shares, by key, generation and date */
byte reset_at[KEYS];

/* h_level becomes what the log leaves of the key at the instant upto. */
inline replay(key, upto) {
	h_level = FIRST_LEVEL(key);
	h_g = 0;
	h_d = 1;
	do
	:: h_d > upto -> break
	:: else ->
		if
		:: h_d > 1 -> h_level = MIN(BURST(h_g) * SHARES, h_level + SHARES / K(h_g))
		:: else
		fi;
		h_i = 0;
		do
		:: h_i == GENS -> break
		:: else ->
			if
			:: h_i > 0 && since[h_i] == h_d && h_i <= cur ->
				h_g = h_i;
				h_level = MIN(BURST(h_g) * SHARES, h_level)
			:: else
			fi;
			h_level = h_level - SPENT(key, h_i, h_d);
			if :: h_level < 0 -> overdrawn = 1 :: else fi;
			h_i++
		od;
		h_d++
	od
}

/* A grant of tokens at a date. There is no credit for a date before a reset. */
inline spend(key, g1, date1, tokens) {
	h_d = MAX(date1, reset_at[key]);
	SPENT(key, g1, h_d) = SPENT(key, g1, h_d) + (tokens) * SHARES;
	overdrawn = 0;
	replay(key, (DATES - 1));
	assert(!overdrawn)
}

/* Ticks of a booking at a date come back. */
inline unspend(key, g1, date1, ticks) {
	returned_more = ticks * (SHARES / K(g1)) > SPENT(key, g1, date1);
	assert(!returned_more);
	SPENT(key, g1, date1) = SPENT(key, g1, date1) - ticks * (SHARES / K(g1))
}

/* A reset: the key is as if nothing had ever been taken from it. */
inline forgive(key, at1) {
	h_i = 0;
	do
	:: h_i == GENS * DATES -> break
	:: else -> spent[(key) * GENS * DATES + h_i] = 0; h_i++
	od;
	reset_at[key] = at1
}

/* What is found at the end, as the TAT h_t, against what the log leaves. */
inline audit(key) {
	h_end = now;
	h_i = 0;
	h_ok = 0;	/* whether anything was charged */
	do
	:: h_i == GENS * DATES -> break
	:: else ->
		if
		:: spent[(key) * GENS * DATES + h_i] > 0 ->
			h_ok = 1;
			h_end = MAX(h_end, h_i % DATES)
		:: else
		fi;
		h_i++
	od;
	h_has = BURST(cur) * SHARES - MAX(0, h_t - h_end) * (SHARES / K(cur));
	overdrawn = 0;
	replay(key, h_end);
	assert(!overdrawn);
	lost = h_has > h_level;
	assert(!lost);
	unearned = !h_ok && h_has < h_level;
	assert(!unearned)
}
