	/* Table.SetLimit: all stripes are locked while the block changes. */
	:: d_step { pc == SETTING && !setting -> TOOK(SETTING) setting = 1; g = cur + 1;
#ifdef M_SINCE_FIRST
		x = now;
#endif
#ifdef M_PUBLISHES_UNLOCKED
		pc = PUBLISH
#else
		pc = STRIPES
#endif
		}
	:: d_step { pc == STRIPES && !stripe[looked] -> TOOK(STRIPES)
		stripe[looked] = 1;
		looked++;
		if :: looked == 2 -> looked = 0; pc = PUBLISH :: else fi }
	:: d_step { pc == PUBLISH -> TOOK(PUBLISH)
		has_old[g] = 1;
		cur = g;
#ifdef M_SINCE_FIRST
		since[g] = x; x = 0;
#endif
#ifndef M_PUBLISHES_UNLOCKED
		stripe[0] = 0; stripe[1] = 0;
#endif
		ret = BRING; s = 0; brings = 2;
		if :: fresh[g] != 0 -> pc = BRING; ret = 0 :: else -> pc = SINCE fi }
	:: d_step { pc == DROP_OLD -> TOOK(DROP_OLD) has_old[g] = 0; setting = 0; finish() }

	/* Table.bring, bucket by bucket; a bucket is one slot here. */
	:: d_step { pc == BRING -> TOOK(BRING)
		if :: brought[g * 2 + s] -> next_bucket() :: else -> pc = BRING_LOCK fi }
	:: d_step { pc == BRING_LOCK && (BRINGS_UNLOCKED || !stripe[s]) -> TOOK(BRING_LOCK)
#ifndef M_BRINGS_UNLOCKED
		stripe[s] = 1;
#endif
		pc = BRING_TAT }
	/* The hash of an old slot does not change, as nobody inserts there. */
	:: d_step { pc == BRING_TAT -> TOOK(BRING_TAT)
		w = TATS(g - 1, s);
		if
		:: HASHES(g - 1, s) == 0 || w == GONE -> w = 0; pc = BROUGHT
#ifdef M_NEW_FIRST
		:: HASHES(g - 1, s) != 0 && w != GONE -> converted(); pc = BRING_CLAIM
#endif
		:: else -> pc = BRING_SWAP
		fi }
	:: d_step { pc == BRING_SWAP -> TOOK(BRING_SWAP)
		if
		:: MISSED(TATS(g - 1, s) != w, M_BRING) -> w = 0; pc = BRING_TAT
		:: else ->
			TATS(g - 1, s) = GONE;
#ifdef M_NEW_FIRST
			w = 0; x = 0; pc = BROUGHT
#else
			converted();
			if :: x == fresh[g] -> w = 0; x = 0; pc = BROUGHT :: else -> pc = BRING_CLAIM fi
#endif
		fi }
	:: d_step { pc == BRING_CLAIM -> TOOK(BRING_CLAIM) TATS(g, s) = CLAIMED; pc = BRING_HASH }
	:: d_step { pc == BRING_HASH -> TOOK(BRING_HASH) HASHES(g, s) = HASHES(g - 1, s); pc = BRING_STORE }
	:: d_step { pc == BRING_STORE -> TOOK(BRING_STORE)
		TATS(g, s) = x;
#ifdef M_NEW_FIRST
		pc = BRING_SWAP
#else
		alone(HASHES(g, s));
		w = 0; x = 0; pc = BROUGHT
#endif
		}
	:: d_step { pc == BROUGHT -> TOOK(BROUGHT)
		brought[g * 2 + s] = 1;
#ifndef M_BRINGS_UNLOCKED
		stripe[s] = 0;
#endif
		next_bucket() }
