/* The steps of an operation on a table: see table.pml. */

mtype = {
	FETCH, CLOCK, BLOCK, OLD_BLOCK, FIND_HASH, FIND_TAT, LOAD, HASH, STAMP, SWAP, LOAD_AGAIN,
	ABSENT, IN_FORCE, LOCK, CHECK, SCAN_HASH, SCAN_TAT, NONE_THERE, CLOCK_AGAIN, STAMP_AGAIN, DECIDE,
	PICK, PICK_MARK, CLAIM, STORE_HASH, STORE_TAT, UNLOCK,
	LOWER_TAT, LOWER_HASH, LOWER_CLOCK, LOWER_CHECK, LOWER_STAMP, LOWER_AGAIN, DRAW, MARK, MARK_SWAP,
	LOWER, NOTE, NOTE_SWAP, SETTLE, SETTLED,
	SETTING, STRIPES, PUBLISH, SINCE, CLOCK_SINCE, SET_SINCE, SET_FRESH, DROP_OLD,
	BRING, BRING_LOCK, BRING_TAT, BRING_SWAP, BRING_CLAIM, BRING_HASH, BRING_STORE, BROUGHT, OVER
};

/* The next operation; what was left in registers is no part of the state. */
inline finish() {
	op = next_op / 16; h = (next_op / 4) % 4; n = next_op % 4; next_op = 0;
	clear();
	at = 0;
	pc = FETCH
}
inline clear() {
	g = 0; s = 0; w = 0; x = 0; stamp = 0; looked = 0; brings = 0; own = 0; ret = 0; old = 0
}
inline unlock() { stripe[STRIPE(h)] = 0 }

/* Once more: a booking keeps its reading of the clock. */
inline once_more() {
	clear();
	if :: op == BOOK -> pc = BLOCK :: else -> at = 0; pc = CLOCK fi
}

/* The slots are looked at one after the other, in an order of the key's own. */
inline first_slot(next) { s = h & 1; looked = 0; pc = next }
inline next_slot(next, none) {
	s = 1 - s; looked++;
	if :: looked == 2 -> looked = 0; s = 0; pc = none :: else -> pc = next fi
}

proctype actor(byte me, first, next_op) {
	mtype pc = FETCH, ret = 0;
	byte op, h, n, at, g, s, w, x, stamp, looked, brings;
	bit own, old;

	op = first / 16; h = (first / 4) % 4; n = first % 4; first = 0;
	do
	:: d_step { pc == FETCH -> TOOK(FETCH)
		if
		:: op == CANCEL -> pc = SETTLE
		:: op == CHANGE -> pc = SETTING
		:: op == END -> pc = OVER
#ifdef M_BLOCK_FIRST
		:: else -> pc = BLOCK
#else
		:: else -> pc = CLOCK
#endif
		fi }
	:: pc == OVER -> break

	:: d_step { pc == CLOCK -> TOOK(CLOCK) at = now;
#ifdef M_BLOCK_FIRST
		pc = OLD_BLOCK
#else
		pc = BLOCK
#endif
		}
	/* Table.current, Core.settle */
	:: d_step { pc == BLOCK -> TOOK(BLOCK)
		g = cur;
		ret = OLD_BLOCK;
#ifdef M_BLOCK_FIRST
		if :: at == 0 -> ret = CLOCK :: else fi;
#endif
#if GENS > 1
		if :: fresh[g] != 0 -> pc = ret; ret = 0 :: else -> pc = SINCE fi
#else
		pc = ret; ret = 0
#endif
		}
#if GENS > 1
	:: d_step { pc == SINCE -> TOOK(SINCE) if :: since[g] == 0 -> pc = CLOCK_SINCE :: else -> pc = SET_FRESH fi }
	:: d_step { pc == CLOCK_SINCE -> TOOK(CLOCK_SINCE) x = now; pc = SET_SINCE }
	:: d_step { pc == SET_SINCE -> TOOK(SET_SINCE)
		if :: since[g] == 0 -> since[g] = x :: else fi;
		x = 0;
		pc = SET_FRESH }
	:: d_step { pc == SET_FRESH -> TOOK(SET_FRESH) settle(g); pc = ret; ret = 0 }
#endif
	/* Table.lookup: whether there is an old block is asked before find. */
	:: d_step { pc == OLD_BLOCK -> TOOK(OLD_BLOCK) old = has_old[g]; first_slot(FIND_HASH) }
	/* block.find: the hash, then the TAT. What it finds is looked at again. */
	:: d_step { pc == FIND_HASH -> TOOK(FIND_HASH)
		if :: HASHES(g, s) == h -> pc = FIND_TAT :: else -> next_slot(FIND_HASH, ABSENT) fi }
	:: d_step { pc == FIND_TAT -> TOOK(FIND_TAT)
		if
		:: TATS(g, s) < CLAIMED && op == RESET -> pc = LOCK
#ifdef M_HASH_FIRST
		:: TATS(g, s) < CLAIMED && op != RESET -> pc = HASH
#else
		:: TATS(g, s) < CLAIMED && op != RESET -> pc = LOAD
#endif
		:: else -> next_slot(FIND_HASH, ABSENT)
		fi }

	/* slot.decide and slot.book: the TAT, then the hash, then the swap. */
	:: d_step { pc == LOAD -> TOOK(LOAD)
		w = TATS(g, s);
		own = HASHES(g, s) == h;	/* for the ledger */
#ifdef M_HASH_FIRST
		if :: w >= CLAIMED -> once_more() :: else -> judge() fi
#else
		if :: w >= CLAIMED -> once_more() :: else -> pc = HASH fi
#endif
		}
	:: d_step { pc == HASH -> TOOK(HASH)
		if
		:: HASHES(g, s) != h -> once_more()
		:: else ->
#ifdef M_HASH_FIRST
			pc = LOAD
#else
			if :: TATS(g, s) == w -> own = 1 :: else fi;
			judge()
#endif
		fi }
	:: d_step { pc == STAMP -> TOOK(STAMP) stamp = resets; pc = SWAP }
	:: d_step { pc == SWAP -> TOOK(SWAP)
		if
		:: MISSED(TATS(g, s) != w, M_CHARGE) -> w = 0; x = 0; stamp = 0; own = 0; pc = LOAD
		:: else ->
			other_key = HASHES(g, s) != h;
			assert(!other_key);
			TATS(g, s) = x;
			grant(w);
#ifdef M_STAMP_AFTER_SWAP
			if :: op == BOOK -> pc = STAMP_AGAIN :: else -> finish() fi
#else
			finish()
#endif
		fi }
	:: d_step { pc == LOAD_AGAIN -> TOOK(LOAD_AGAIN)
		if
		:: TATS(g, s) != w -> w = 0; own = 0; pc = LOAD
		:: else -> refused(); finish()
		fi }

	/* Not found: bring it over if it may be in the old block, then insert. */
	:: d_step { pc == ABSENT -> TOOK(ABSENT)
		if
#if GENS > 1 && !defined(M_UNBROUGHT)
		:: old && brings == 0 -> brings = 1; s = 0; pc = BRING
#endif
		:: else ->
			brings = 0; old = 0;
			decide(fresh[g], g, at, n, MAYWAIT);
			if :: h_ok && (op == TAKE || op == BOOK) -> pc = LOCK :: else -> pc = IN_FORCE fi
		fi }
	:: d_step { pc == IN_FORCE -> TOOK(IN_FORCE) if :: cur == g -> finish() :: else -> once_more() fi }
	:: d_step { pc == LOCK && (UNLOCKED || !stripe[STRIPE(h)]) -> TOOK(LOCK)
		stripe[STRIPE(h)] = 1; old = 0;
		if
		:: op == CANCEL -> pc = CHECK
		:: op == RESET -> first_slot(SCAN_HASH)
		:: else -> pc = CHECK
		fi }
	:: d_step { pc == CHECK -> TOOK(CHECK)
		if
#ifdef M_INSERT_UNCHECKED
		:: cur != g && op == CANCEL -> unlock(); finish()
#elif defined(M_GIVES_UNCHECKED)
		:: cur != g && op != CANCEL -> unlock(); once_more()
#else
		:: cur != g && op == CANCEL -> unlock(); finish()
		:: cur != g && op != CANCEL -> unlock(); once_more()
#endif
		:: else ->
			w = 0; x = 0;
#ifdef M_UNSCANNED
			if :: op == CANCEL -> first_slot(SCAN_HASH) :: else -> pc = CLOCK_AGAIN fi
#elif defined(M_CLOCK_BEFORE_SCAN)
			if :: op == CANCEL -> skip :: else -> at = now fi;
			first_slot(SCAN_HASH)
#else
			first_slot(SCAN_HASH)
#endif
		fi }
	/* block.scan, under the lock; a claimed slot counts as another's. */
	:: d_step { pc == SCAN_HASH -> TOOK(SCAN_HASH)
		if :: HASHES(g, s) == h -> pc = SCAN_TAT :: else -> next_slot(SCAN_HASH, NONE_THERE) fi }
	:: d_step { pc == SCAN_TAT -> TOOK(SCAN_TAT)
		if
#ifdef M_CLAIMED_IS_PRESENT
		:: TATS(g, s) == GONE -> next_slot(SCAN_HASH, NONE_THERE)
#else
		:: TATS(g, s) >= CLAIMED -> next_slot(SCAN_HASH, NONE_THERE)
#endif
		:: else ->
			if
			:: op == CANCEL || op == RESET -> pc = LOWER_TAT
			:: else -> unlock(); once_more()
			fi
		fi }
	:: d_step { pc == NONE_THERE -> TOOK(NONE_THERE)
		if
		:: op == CANCEL -> unlock(); finish()
		:: op == RESET -> unlock(); if :: cur == g -> finish() :: else -> once_more() fi
		:: else -> pc = CLOCK_AGAIN
		fi }

	/* Table.insert: the clock after the scan. */
	:: d_step { pc == CLOCK_AGAIN -> TOOK(CLOCK_AGAIN)
#if !defined(M_STALE_INSERT) && !defined(M_CLOCK_BEFORE_SCAN)
		at = now;
#endif
		if :: op == BOOK -> pc = STAMP_AGAIN :: else -> pc = DECIDE fi }
	:: d_step { pc == STAMP_AGAIN -> TOOK(STAMP_AGAIN)
#ifdef M_STAMP_AFTER_SWAP
		if
		:: booked[me].held -> booked[me].stamp = resets; finish()
		:: else -> stamp = resets; pc = DECIDE
		fi
#else
		stamp = resets; pc = DECIDE
#endif
		}
	:: atomic { pc == DECIDE ->
		d_step { TOOK(DECIDE) decide(fresh[g], g, at, n, MAYWAIT);
			if :: h_ok -> x = h_t; looked = 0; pc = PICK :: else -> unlock(); finish() fi };
		if :: pc == PICK -> if :: s = 0 :: s = 1 fi :: else fi }
	/* block.usable and block.claim, beginning with any slot. */
	:: d_step { pc == PICK -> TOOK(PICK)
		w = TATS(g, s);
		if
		:: w == 0 -> pc = CLAIMS
		:: w > 0 && w < CLAIMED && OVERDUE(w, AT(g, at)) && (FRESH_IN_TIME(g, at)) -> pc = PICK_MARK
		:: else -> next_pick()
		fi }
	:: d_step { pc == PICK_MARK -> TOOK(PICK_MARK)
		if
		:: PASSED(MARKS(g, s), AT(g, at)) -> pc = CLAIMS
		:: else -> next_pick()
		fi }
	:: d_step { pc == CLAIM -> TOOK(CLAIM)
		if
		:: MISSED(TATS(g, s) != w, M_CLAIM) -> w = 0; looked = 0; pc = PICK
		:: else ->
#ifdef M_UNCLAIMED
			TATS(g, s) = x; inserted(); pc = STORE_HASH
#elif defined(M_HASH_BEFORE_SWAP)
			TATS(g, s) = x; inserted(); pc = UNLOCK
#elif defined(M_TAT_BEFORE_HASH)
			TATS(g, s) = CLAIMED; pc = STORE_TAT
#else
			TATS(g, s) = CLAIMED; pc = STORE_HASH
#endif
		fi }
	:: d_step { pc == STORE_HASH -> TOOK(STORE_HASH)
		HASHES(g, s) = h;
#if defined(M_UNCLAIMED) || defined(M_TAT_BEFORE_HASH)
		pc = UNLOCK
#elif defined(M_HASH_BEFORE_SWAP)
		pc = CLAIM
#else
		pc = STORE_TAT
#endif
		}
	:: d_step { pc == STORE_TAT -> TOOK(STORE_TAT)
		TATS(g, s) = x;
		inserted();
#ifdef M_TAT_BEFORE_HASH
		pc = STORE_HASH
#else
		pc = UNLOCK
#endif
		}
	:: d_step { pc == UNLOCK -> TOOK(UNLOCK) unlock(); finish() }

	/* Table.reset and Table.giveBack, in the slot that was found. */
	:: d_step { pc == LOWER_TAT -> TOOK(LOWER_TAT)
		w = TATS(g, s);
		if :: w >= CLAIMED -> lower_gone() :: else -> pc = LOWER_HASH fi }
	:: d_step { pc == LOWER_HASH -> TOOK(LOWER_HASH)
		if :: HASHES(g, s) != h -> lower_gone() :: else -> pc = LOWER_CLOCK fi }
	:: d_step { pc == LOWER_CLOCK -> TOOK(LOWER_CLOCK)
#ifdef M_LOWER_STALE
		if :: op == RESET -> at = now :: else fi;
#else
		at = now;
#endif
		pc = LOWER_CHECK }
	:: d_step { pc == LOWER_CHECK -> TOOK(LOWER_CHECK)
		if
#ifdef M_GIVES_UNCHECKED
		:: cur != g && op != CANCEL -> unlock(); once_more()
#else
		:: cur != g && op == CANCEL -> unlock(); finish()
		:: cur != g && op == RESET -> unlock(); once_more()
#endif
		:: else -> if :: op == CANCEL -> pc = LOWER_STAMP :: else -> lower_to(0); if :: x == w -> pc = LOWER_AGAIN :: else -> pc = DRAW fi fi
		fi }
	:: d_step { pc == LOWER_STAMP -> TOOK(LOWER_STAMP)
		if
		:: NOTES(g, s) > booked[stamp].stamp -> unlock(); finish()
		:: else -> lower_to(1); if :: x == w -> pc = LOWER_AGAIN :: else -> pc = LOWERS fi
		fi }
	:: d_step { pc == LOWER_AGAIN -> TOOK(LOWER_AGAIN)
		if :: TATS(g, s) == w -> unlock(); finish() :: else -> lower_again() fi }
	:: d_step { pc == DRAW -> TOOK(DRAW) resets++; stamp = resets; pc = LOWERS }
	/* block.lower: the mark is raised before the TAT is lowered. */
	:: d_step { pc == MARK -> TOOK(MARK) looked = MARKS(g, s);
		if :: looked >= MARK_TO && !MARKS_PLAINLY -> looked = 0; pc = MARKED :: else -> pc = MARK_SWAP fi }
	:: d_step { pc == MARK_SWAP -> TOOK(MARK_SWAP)
		if :: MARKS(g, s) == looked -> MARKS(g, s) = MARK_TO; pc = MARKED :: else -> pc = MARK fi;
		looked = 0 }
	:: d_step { pc == LOWER -> TOOK(LOWER)
		if
		:: MISSED(TATS(g, s) != w, M_LOWER) -> lower_again()
		:: else ->
			other_key = HASHES(g, s) != h;
			assert(!other_key);
			TATS(g, s) = x;
			lowered();
#ifdef M_MARK_AFTER
			pc = MARK
#else
			if :: op == RESET -> pc = NOTES_NEXT :: else -> unlock(); finish() fi
#endif
		fi }
	:: d_step { pc == NOTE -> TOOK(NOTE) looked = NOTES(g, s);
		if :: looked >= stamp -> unlock(); finish() :: else -> pc = NOTE_SWAP fi }
	:: d_step { pc == NOTE_SWAP -> TOOK(NOTE_SWAP)
		if :: NOTES(g, s) == looked -> NOTES(g, s) = stamp; unlock(); finish() :: else -> looked = 0; pc = NOTE fi }

	/* Reservation.Settle of anybody's booking, whose number is in stamp. */
	:: atomic { pc == SETTLE ->
		stamp = 3;
		if
		:: booked[0].held -> stamp = 0
		:: booked[1].held -> stamp = 1
		:: booked[2].held -> stamp = 2
		:: else
		fi;
		d_step { TOOK(SETTLE) if
		:: stamp == 3 || booked[stamp].settled -> finish()
		:: else ->
#ifndef M_CANCELS_TWICE
			booked[stamp].settled = 1;
#endif
			h = booked[stamp].key; g = booked[stamp].gen; pc = SETTLED
		fi } }
	:: d_step { pc == SETTLED -> TOOK(SETTLED)
		booked[stamp].settled = 1;
#ifdef M_LOWER_STALE
		at = now;
#endif
		pc = LOCK }

#if GENS > 1
#include "tablechange.pml"
#endif
	od;
	done++
}
