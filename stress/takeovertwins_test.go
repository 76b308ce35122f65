package stress_test

import "testing"

// A fault is what is left out of, or wrong in, the protocol of the Table.
type fault uint8

const (
	faultless fault = iota

	hashFirst // deciding
	decidesOnce
	blockFirst
	ignoresSince
	absentUnchecked
	absentByOldReading

	claimsNothing // inserting
	hashBeforeSwap
	tatBeforeHash
	markUnread
	markFirst
	markNotStrict
	takesAtNow
	freshUntested
	freshNotStrict
	insertsUnlocked
	insertsUnscanned
	staleInsertion
	clockBeforeScan
	claimedIsPresent
	claimUndone

	markAfter // giving back, resetting
	markStored
	marksNext
	givesUnmarked
	resetsUnmarked
	givesBelowNow
	givesByStaleClock
	givesUnlocked
	resetsUnnoted
	notesUnlocked
	serialAfterSwap
	dropsAtNow
	dropsEarly
	drawsAfterSwap
	lowersOnce

	sinceBeforeBlock // changing the limit
	publishesUnlocked
	publishesHalfLocked
	insertsUnchecked
	givesUnchecked
	checksBeforeLock
	resetsUnchecked
	dropsOldEarly
	leavesUnbrought
	insertsUnbrought
	resetsUnbrought
	loadsOldAfter
	looksOnce
	bringsPlainly
	bringsUnlocked
	bringsHomeOnly
	bringsHalfWritten
	bringsUnclaimed
	bringClockFirst
	newFirst
	oldStaysAlive
	dropsByOldLimit
	dropIgnoresFresh
	dropAtFresh
)

// TestTakeoverTwins leaves out or breaks one part of the protocol after the
// other, and the search finds each fault.
func TestTakeoverTwins(t *testing.T) {
	for _, twin := range []struct {
		flaw fault
		name string
		in   string
		why  string
	}{
		{hashFirst, "hash loaded before the TAT", "a slot changes hands", "the TAT may be the next owner's"},
		{decidesOnce, "refusal without loading the TAT again", "peeks", "the hash may be stored already, and the TAT of the owner before"},
		{blockFirst, "block loaded before the clock", "to slow", "a charge in old ticks is dated after the change"},
		{ignoresSince, "instants before S", "a change and a reset", "time counts twice, at either rate"},
		{absentUnchecked, "absent, in a block that was left", "a change and a peek", "the key has been brought over"},
		{loadsOldAfter, "old block looked for after the scan", "a change and a peek", "the key came over behind the scan"},
		{absentByOldReading, "refused as absent by a reading before fresh", "loaded full", "forgotten after fresh, judged before it"},

		{claimsNothing, "TAT swapped without a claim, then the hash", "a slot changes hands", "the old owner charges the new TAT"},
		{hashBeforeSwap, "hash stored, then the TAT swapped", "a slot changes hands", "the new owner charges the old TAT"},
		{tatBeforeHash, "claimed, but the TAT stored before the hash", "a slot changes hands", "the old owner charges the new TAT"},
		{markUnread, "takeover without the mark", "a reset", "a stale swap lands on the new owner"},
		{markFirst, "mark loaded before the TAT", "a reset", "it was raised and the TAT lowered in between"},
		{markNotStrict, "taken at the mark", "two bookings of two keys", "the new owner's TAT can come down to it"},
		{takesAtNow, "taken although it owes until now", "two bookings of two keys", "the new owner's TAT can come down to it"},
		{freshUntested, "taken although fresh has not passed", "loaded full, started at half", "a full key reads as one never seen"},
		{insertsUnlocked, "insert without the lock", "an empty block", "the key is there twice"},
		{insertsUnscanned, "insert without looking again", "an empty block", "the key is there twice"},
		{staleInsertion, "insert with the stale instant", "an empty block", "old credit comes to life again"},
		{clockBeforeScan, "clock read before looking again", "an empty block", "the key may have been charged and forgotten since"},
		{claimedIsPresent, "a claimed slot with the key's hash counts as present", "a slot changes hands", "it waits for the taker"},
		{claimUndone, "claim undone", "a booking given back", "its owner came back elsewhere meanwhile"},

		{markAfter, "mark raised after the TAT was lowered", "a reset", "a taker comes between"},
		{markStored, "mark stored, not raised", "two resets, one mark", "another key's mark is lost"},
		{marksNext, "mark raised to the next TAT only", "a reset", "a stale swap is from the one before"},
		{givesUnmarked, "give-back without the mark", "two bookings of two keys", "a stale swap lands on the new owner"},
		{resetsUnmarked, "reset without the mark", "a reset", "a stale swap lands on the new owner"},
		{givesBelowNow, "give-back below now", "a part given back", "refilled tokens come back a second time"},
		{givesByStaleClock, "give-back reads the clock before the word", "a booking given back", "others were charged later"},
		{givesUnlocked, "give-back without the lock", "bookings and a reset", "a reset and new charges come between"},
		{lowersOnce, "nothing to lower, by a stale TAT", "a reset", "it was charged before the clock was read"},
		{resetsUnnoted, "reset not noted", "bookings and a reset", "what it forgave comes back"},
		{notesUnlocked, "reset noted outside of the lock", "bookings and a reset", "a give-back comes between"},
		{serialAfterSwap, "booking loads the serial after its swap", "a booking and a reset", "a reset came between"},
		{drawsAfterSwap, "reset draws its serial after its swap", "bookings and a reset", "a booking from after it returns nothing"},
		{dropsEarly, "reset forgotten one tick early", "bookings and a reset", "a tick of the booking is not refilled yet"},

		{sinceBeforeBlock, "S read before the block is published", "to slow", "charges under the old limit are dated after S"},
		{publishesUnlocked, "block published without the locks", "to fast", "an insert into the old one is lost"},
		{publishesHalfLocked, "block published with one lock", "a change and another key", "an insert into the old one is lost"},
		{insertsUnchecked, "insert does not check the block", "to slow", "the old one has been emptied"},
		{givesUnchecked, "give-back does not check the block", "a change and a booking", "old ticks come back"},
		{checksBeforeLock, "give-back checks the block before the lock", "a change and a booking", "it is left in between"},
		{resetsUnchecked, "reset does not check the block", "a change and a reset", "the key is elsewhere, as it was"},
		{dropsOldEarly, "old block dropped before it is empty", "to slow", "keys are not found"},
		{leavesUnbrought, "next change before the old block is empty", "two changes", "keys two blocks back are not found"},
		{insertsUnbrought, "insert before the key is brought", "to slow", "its debt is lost"},
		{resetsUnbrought, "reset before the key is brought", "a change and a reset", "it is not found, and keeps its debt"},
		{looksOnce, "no second look after bringing", "a change and a peek", "the key is there now"},
		{bringsPlainly, "brought without a swap to moved", "to slow", "a stale charge is lost"},
		{bringsUnlocked, "brought without the lock", "to slow", "it is on its way, and not found"},
		{bringsHomeOnly, "only one bucket brought before an insert", "a change and another key", "the place belongs to another key"},
		{bringsHalfWritten, "brought in without a claim", "to slow", "its hash is there before its TAT"},
		{newFirst, "new slot written before the old one is gone", "to slow", "it is charged in both"},
		{oldStaysAlive, "old slot left as it was", "to slow", "it is charged in both"},
		{dropsByOldLimit, "full by the old limit", "to slow", "owing under the new"},
		{dropIgnoresFresh, "dropped although fresh has not passed", "a change, loaded", "a full key reads as one never seen"},
	} {
		t.Run(twin.name, func(t *testing.T) {
			t.Parallel()
			visited, err := tableScenarioNamed(t, twin.in).search(twin.flaw)
			if err == nil {
				t.Errorf("not found in %d states: %s", visited, twin.why)
			}
			t.Logf("after %d states: %v", visited, err)
		})
	}
}

// TestTakeoverSpares: what the protocol can do without, so that nobody takes it
// for what holds it up.
func TestTakeoverSpares(t *testing.T) {
	if underRace {
		t.Skip("there is no race to find: see TestTakeover")
	}
	for _, spare := range []struct {
		flaw fault
		name string
		in   string
		why  string
	}{
		{freshNotStrict, "taken at fresh", "loaded full, started at half", "then the key is full either way"},
		{dropAtFresh, "dropped at fresh", "a change, loaded", "then the key is full either way"},
		{dropsAtNow, "reset forgotten at the TAT that it lowered", "bookings and a reset", "then all is refilled"},
		{bringClockFirst, "clock read before the swap to moved", "a change and a takeover", "an older reading keeps more"},
		{bringsUnclaimed, "brought in without a claim, TAT before hash", "to slow, present", "nobody inserts there, or looks before the hash is there"},
	} {
		t.Run(spare.name, func(t *testing.T) {
			t.Parallel()
			visited, err := tableScenarioNamed(t, spare.in).search(spare.flaw)
			if err != nil {
				t.Errorf("%v, although %s", err, spare.why)
			}
			t.Logf("%d states", visited)
		})
	}
}

func tableScenarioNamed(t *testing.T, name string) tableScenario {
	for _, s := range tableScenarios {
		if s.name == name {
			return s
		}
	}
	t.Fatalf("no scenario %q", name)
	panic("unreachable")
}
