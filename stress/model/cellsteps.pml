/* The steps of an operation on the key: see cell.pml. */

mtype = {
	FETCH, CLOCK, ENTRY, GENERATION, SINCE, CLOCK_SINCE, SET_SINCE, SET_FRESH, FOUND,
	LOAD, SWAP, ABSENT, BALANCE, LOCK, OLD, CLOCK_AGAIN, AGAIN, ALIVE, FREEZE_LOAD, FREEZE_SWAP,
	FROZE, CONVERT, INSERT, UNLOCK, JUDGE, KILL, DELETE, DEATH, FULL, RESET_SWAP, RENEW, RENEWED,
	SETTLE, SETTLED, LIVES, WORD, CANCEL_CLOCK, CANCEL_TO, CANCEL_SWAP,
	PUBLISH, PUBLISHED, SINCE_EARLY, CHANGED, WALK, WALKED, OVER
};

/* Where to go on once the generation is loaded, and settled. */
inline current(next) {
#if GENS > 1
	pc = GENERATION; ret = next
#else
	pc = next
#endif
}

inline freeze(next) { pc = FREEZE_LOAD; ret = next }

/* The next operation; what was left in registers is no part of the state. */
inline finish() {
	op = next_op / 4; n = next_op % 4; next_op = OP(END, 0);
	at = 0; c = NONE; cg = 0; g = 0; w = 0; x = 0; dead = 0; ret = 0;
	pc = FETCH
}

inline take_cell(c1) { c = c1; if :: c == NONE -> cg = 0 :: else -> cg = gen[c] fi }

proctype actor(byte me, first, next_op) {
	mtype pc = FETCH, ret = 0;
	byte op, n, at, c = NONE, cg, g, w, x;
	bit dead;

	op = first / 4; n = first % 4; first = 0;
	do
	:: d_step { pc == FETCH -> TOOK(FETCH)
		if
		:: op == CANCEL -> pc = SETTLE
		:: op == CHANGE -> pc = PUBLISH
		:: op == END -> pc = OVER
#ifdef M_GENERATION_FIRST
		:: op == TAKE || op == BOOK -> current(CLOCK)
#endif
		:: else -> pc = CLOCK
		fi }
	:: pc == OVER -> break

	/* Limiter.find: the clock, then the cell, then the generation. A booking
	   that comes back keeps its reading. */
	:: d_step { pc == CLOCK -> TOOK(CLOCK) at = now; pc = ENTRY }
	:: d_step { pc == ENTRY -> TOOK(ENTRY)
		take_cell(entry);
#ifdef M_GENERATION_FIRST
		if :: op == TAKE || op == BOOK -> pc = FOUND :: else -> current(FOUND) fi
#else
		current(FOUND)
#endif
		}

#if GENS > 1
	/* Core.Current and Core.Settled. That fresh is set, and stays so, may be
	   asked in the step that loads the generation. */
	:: d_step { pc == GENERATION -> TOOK(GENERATION)
		g = cur;
		if
		:: fresh[g] != 0 -> pc = ret; ret = 0
		:: else -> pc = SINCE
		fi }
	/* Core.settle: the clock is read after g was published. */
	:: d_step { pc == SINCE -> TOOK(SINCE) if :: since[g] == 0 -> pc = CLOCK_SINCE :: else -> pc = SET_FRESH fi }
	:: d_step { pc == CLOCK_SINCE -> TOOK(CLOCK_SINCE) x = now; pc = SET_SINCE }
	:: d_step { pc == SET_SINCE -> TOOK(SET_SINCE)
#ifdef M_SINCE_STORED
		since[g] = x;
#else
		if :: since[g] == 0 -> since[g] = x :: else fi;
#endif
		x = 0;
		pc = SET_FRESH }
	:: d_step { pc == SET_FRESH -> TOOK(SET_FRESH) settle(g); pc = ret; ret = 0 }
#endif

	:: d_step { pc == FOUND -> TOOK(FOUND)
		if
		:: op == SWEEP -> if :: c == NONE -> finish() :: else -> pc = JUDGE fi
		:: op == RESET -> if :: c == NONE -> finish() :: else -> pc = DEATH fi
		:: else ->
			if
			:: c != NONE && SAME(cg, g) -> pc = LOAD
			:: else -> pc = ABSENT
			fi
		fi }

	/* Cell.Take and Cell.Book. */
	:: d_step { pc == LOAD -> TOOK(LOAD)
		w = word[c];
		if
		:: UNCHARGEABLE(w) -> w = 0; pc = ABSENT
		:: else ->
			decide(VALUE(w), g, at, n, MAYWAIT);
			if
			:: h_ok -> x = h_t; pc = SWAP
			:: else -> finish()
			fi
		fi }
	:: d_step { pc == SWAP -> TOOK(SWAP)
		if
		:: MISSED(word[c] != w, M_TAKE) -> w = 0; x = 0; pc = LOAD
		:: else ->
#ifdef M_CHARGES_FROZEN
			word[c] = (w & DEAD) + x;
#else
			word[c] = x;
#endif
			decide(VALUE(w), g, at, n, MAYWAIT);
			grant(c);
			finish()
		fi }

	/* takeNew and bookNew: what is refused needs no cell. */
	:: d_step { pc == ABSENT -> TOOK(ABSENT)
#ifdef M_WAITS
		if
		:: c != NONE && word[c] == DEAD -> at = 0; take_cell(NONE); g = 0; pc = CLOCK
		:: op == BOOK && !(c != NONE && word[c] == DEAD) -> current(BALANCE)
		:: else -> pc = BALANCE
		fi
#else
		if :: op == BOOK -> current(BALANCE) :: else -> pc = BALANCE fi
#endif
		}
	:: d_step { pc == BALANCE -> TOOK(BALANCE)
		balance(c, cg, g);
		decide(h_t, g, at, n, MAYWAIT);
		if :: h_ok -> pc = LOCK :: else -> finish() fi }

	/* Limiter.insert: one Compute of the map. */
	:: d_step { pc == LOCK && !maplock -> TOOK(LOCK)
		maplock = 1;
#ifndef M_REPLACES_SEEN
		take_cell(entry);
#endif
#ifdef M_CLOCK_BEFORE_DEAD
		pc = CLOCK_AGAIN
#else
		pc = OLD
#endif
		}
	/* Limiter.again: only a cell that was dead before the clock was read counts
	   as none. */
	:: d_step { pc == OLD -> TOOK(OLD)
		if :: c == NONE -> dead = 1 :: else -> dead = ISDEAD(word[c]) fi;
#ifdef M_CLOCK_BEFORE_DEAD
		pc = AGAIN
#else
		pc = CLOCK_AGAIN
#endif
		}
	:: d_step { pc == CLOCK_AGAIN -> TOOK(CLOCK_AGAIN)
#ifndef M_STALE_INSERT
		at = now;
#endif
#ifdef M_CLOCK_BEFORE_DEAD
		current(OLD)
#else
		current(AGAIN)
#endif
		}
	:: d_step { pc == AGAIN -> TOOK(AGAIN)
		if
		:: dead -> pc = INSERT
		:: !dead && SAME(cg, g) -> pc = ALIVE
		:: else -> freeze(FROZE)
		fi }
	:: d_step { pc == ALIVE -> TOOK(ALIVE)
		if
#ifndef M_REPLACES_SEEN
		:: word[c] < DEAD -> g = 0; take_cell(NONE); pc = UNLOCK
#endif
		:: else -> freeze(FROZE)
		fi }
	/* Cell.Freeze: w is the word that it left. */
	:: d_step { pc == FREEZE_LOAD -> TOOK(FREEZE_LOAD)
		w = word[c];
		if :: w >= DEAD -> pc = ret; ret = 0 :: else -> pc = FREEZE_SWAP fi }
	:: d_step { pc == FREEZE_SWAP -> TOOK(FREEZE_SWAP)
		if
		:: MISSED(word[c] != w, M_FREEZE) -> w = 0; pc = FREEZE_LOAD
		:: else -> w = FROZEN(w); word[c] = w; pc = ret; ret = 0
		fi }
	:: d_step { pc == FROZE -> TOOK(FROZE)
		if
		:: ISDEAD(w) -> w = 0; dead = 1; pc = CLOCK_AGAIN	/* it has just died */
		:: else -> current(INSERT)
		fi }
	:: d_step { pc == INSERT -> TOOK(INSERT)
		if
		:: dead -> h_t = fresh[g]
		:: else -> h_t = VALUE(w); forward(h_t, cg, g)
		fi;
		decide(h_t, g, at, n, MAYWAIT);
		if
		:: h_ok -> x = h_t; put(g, x); grant(entry)
		:: else
		fi;
		maplock = 0;
		finish() }
	:: d_step { pc == UNLOCK -> TOOK(UNLOCK)
		maplock = 0;
		if :: op == BOOK -> pc = ENTRY :: else -> at = 0; pc = CLOCK fi }

	/* bin.forget: the word dies first, if the key is full, then the entry goes. */
	:: d_step { pc == JUDGE -> TOOK(JUDGE)
		w = word[c];
		h_t = VALUE(w);
		h_i = g;
#ifdef M_OLD_LIMIT
		h_i = cg;
#endif
		h_slot = h_i;
		forward(h_t, cg, h_slot);
		if
		:: ISDEAD(w) -> w = 0; pc = DELETE
		:: !ISDEAD(w) && (h_t > AT(h_slot, at) || (LATE_FRESH(g, at))) -> finish()
		:: else -> if :: w >= DEAD || DELETES_ALIVE -> w = 0; pc = DELETE :: else -> pc = KILL fi
		fi }
	:: d_step { pc == KILL -> TOOK(KILL)
		if
		:: MISSED(word[c] != w, M_KILL) -> w = 0; pc = JUDGE
		:: else -> word[c] = DEAD; w = 0; pc = DELETE
		fi }
	:: d_step { pc == DELETE && !maplock -> TOOK(DELETE)
		if
#ifdef M_DELETES_OTHER
		:: entry != NONE -> replace(NONE)
#else
		:: entry == c -> replace(NONE)
#endif
		:: else
		fi;
		finish() }

	/* Limiter.Reset and Cell.Reset. */
	:: d_step { pc == DEATH -> TOOK(DEATH)
		if
		:: ISDEAD(word[c]) -> finish()
		:: !ISDEAD(word[c]) && SAME(cg, g) -> pc = FULL
		:: else -> pc = RENEW
		fi }
	:: d_step { pc == FULL -> TOOK(FULL)
		w = word[c];
		if
		:: w == DEAD || (w < DEAD && w <= MAX(fresh[g], AT(g, at))) -> finish()
		:: w > DEAD -> w = 0; at = 0; take_cell(NONE); g = 0; pc = CLOCK
		:: else -> pc = RESET_SWAP
		fi }
	:: d_step { pc == RESET_SWAP -> TOOK(RESET_SWAP)
		if
		:: MISSED(word[c] != w, M_RESET) -> w = 0; pc = FULL
		:: else ->
#ifdef M_RESET_KEEPS
			word[c] = FROZEN(w);
#else
			word[c] = DEAD;
#endif
			forgive(0, now);
			finish()
		fi }

	/* Limiter.renew: one Compute of the map. */
	:: d_step { pc == RENEW && !maplock -> TOOK(RENEW)
		if
#ifndef M_RENEWS_ANY
		:: entry != c -> renewed()
#endif
		:: else -> maplock = 1; freeze(RENEWED)
		fi }
	:: d_step { pc == RENEWED -> TOOK(RENEWED)
		if
		:: ISDEAD(w) -> maplock = 0; renewed()
		:: else -> current(CONVERT)
		fi }
	:: d_step { pc == CONVERT -> TOOK(CONVERT)
		h_t = VALUE(w);
		forward(h_t, cg, g);
		x = h_t;
		put(g, x);
		maplock = 0;
		renewed() }

	/* Reservation.Settle and Core.giveBack, of anybody's booking, now in c. */
	:: atomic { pc == SETTLE ->
		if
		:: booked[0].held -> c = 0
		:: booked[1].held -> c = 1
		:: booked[2].held -> c = 2
		:: else
		fi;
		d_step { TOOK(SETTLE) if
		:: c == NONE || booked[c].settled -> finish()
#ifdef M_CANCELS_TWICE
		:: else -> pc = SETTLED
#else
		:: else -> booked[c].settled = 1; pc = SETTLED
#endif
		fi } }
	:: d_step { pc == SETTLED -> TOOK(SETTLED)
		booked[c].settled = 1;
#ifdef M_CANCEL_ELSEWHERE
		if :: entry != NONE -> booked[c].cell = entry :: else fi;
#endif
#ifdef M_CANCEL_CLOCK_FIRST
		pc = CANCEL_CLOCK
#else
		pc = LIVES
#endif
		}
	:: d_step { pc == LIVES -> TOOK(LIVES)
		if
#ifndef M_CANCELS_DEAD
		:: word[booked[c].cell] >= DEAD -> finish()
#endif
		:: else -> pc = WORD
		fi }
	:: d_step { pc == WORD -> TOOK(WORD)
		w = VALUE(word[booked[c].cell]);
#ifdef M_CANCEL_CLOCK_FIRST
		pc = CANCEL_TO
#else
		pc = CANCEL_CLOCK
#endif
		}
	:: d_step { pc == CANCEL_CLOCK -> TOOK(CANCEL_CLOCK)
		at = now;
#ifdef M_CANCEL_CLOCK_FIRST
		current(LIVES)
#else
		current(CANCEL_TO)
#endif
		}
	:: d_step { pc == CANCEL_TO -> TOOK(CANCEL_TO)
		give_back(w, booked[c].gen, at, booked[c].cost, booked[c].from, booked[c].slot, booked[c].end1, n);
		if
		:: h_x == 0 || ANOTHER(g, booked[c].gen) -> finish()
		:: else -> x = w - h_x; pc = CANCEL_SWAP
		fi }
	:: d_step { pc == CANCEL_SWAP -> TOOK(CANCEL_SWAP)
		if
		:: MISSED(RETURNABLE(word[booked[c].cell]) != w, M_CANCEL) -> x = 0; w = 0; at = 0; pc = SETTLED
		:: else ->
			word[booked[c].cell] = x;
			h_x = w - x;
			returned(c, h_x);
			finish()
		fi }

#if GENS > 1
	/* Core.SetLimit; every 64th change brings the cells forward, and so does
	   each with n = 1 here. */
	:: d_step { pc == PUBLISH && !setlock -> TOOK(PUBLISH)
		setlock = 1;
#ifdef M_SINCE_FIRST
		current(SINCE_EARLY)
#else
		current(PUBLISHED)
#endif
		}
#ifdef M_SINCE_FIRST
	:: d_step { pc == SINCE_EARLY -> TOOK(SINCE_EARLY) x = now; pc = PUBLISHED }
#endif
	:: d_step { pc == PUBLISHED -> TOOK(PUBLISHED)
		cur++;
#ifdef M_SINCE_FIRST
		since[cur] = x; x = 0;
#endif
		current(CHANGED) }
	:: d_step { pc == CHANGED -> TOOK(CHANGED)
		setlock = 0;
		if :: n == 0 -> finish() :: else -> g = 0; pc = WALK fi }
	:: d_step { pc == WALK -> TOOK(WALK)
		take_cell(entry);
		if :: c == NONE -> finish() :: else -> current(WALKED) fi }
	:: d_step { pc == WALKED -> TOOK(WALKED) if :: SAME(cg, g) -> finish() :: else -> pc = RENEW fi }
#endif
	od;
	done++
}
