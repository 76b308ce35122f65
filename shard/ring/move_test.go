package ring

import "testing"

// moved counts the slots that change owner between two rings of the same names, and those among them whose node in the
// full ring is live in both.
func moved(a, b *Ring) (all, needless int) {
	for s := range a.owner {
		if a.owner[s] == b.owner[s] {
			continue
		}
		all++
		if home := a.home[s]; !a.out[home] && !b.out[home] {
			needless++
		}
	}
	return all, needless
}

// One node leaves and returns: its keys move, 1/n of all, and no others.
func TestOneLeavesAndReturns(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		nodes, step int
		why         string
	}{
		{2, 1, "all to the other"},
		{3, 1, ""},
		{10, 1, ""},
		{100, 1, "each of the hundred"},
		{MaxNodes, 131, "every so many, for time"},
	} {
		if underRace() {
			row.step = max(1, row.nodes/3)
		}
		names := addresses(row.nodes)
		full := of(t, names...)
		back := of(t, names...)
		held := shares(full)
		for i := 0; i < len(full.nodes); i += row.step {
			name := full.nodes[i]
			less := without(t, full, name)
			all, needless := moved(full, less)
			if all != held[i] || needless != 0 {
				t.Errorf("%d nodes: when %s leaves %d slots move, %d of them not its own, want its %d: %s",
					row.nodes, name, all, needless, held[i], row.why)
			}
			if most := 2 * size / row.nodes; all > most {
				t.Errorf("%d nodes: when %s leaves %d slots move, want at most %d", row.nodes, name, all, most)
			}
		}
		// Who returns is in the full ring again. It has not changed, and another process would make the same one.
		if *full.owner != *back.owner {
			t.Errorf("%d nodes: after all came back the ring is another", row.nodes)
		}
	}
}

// Nodes leave on top of each other. Whoever is live keeps every key, and the key of a node that is out moves again only
// now and then, more often in larger rings.
func TestManyLeave(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		nodes  int
		out    []int
		shares float64 // the most that moves when one more leaves, in shares of one live node
		why    string
	}{
		{10, []int{1, 2, 5, 7, 8}, 1.2, ""},
		{100, []int{1, 2, 3, 10, 25, 50, 75, 85, 97, 98}, 1.6, "less than twice what must"},
		{1000, []int{1, 100, 300, 467, 900}, 6, "the price of even shares"},
	} {
		if underRace() {
			row.out = row.out[:2]
		}
		full := of(t, addresses(row.nodes)...)
		leaving := make([]string, row.nodes)
		for k := range leaving {
			leaving[k] = full.nodes[k*37%row.nodes] // not in the order of the names
		}
		for _, out := range row.out {
			before := without(t, full, leaving[:out]...)
			after := without(t, before, leaving[out])
			all, needless := moved(before, after)
			if needless != 0 {
				t.Errorf("%d of %d nodes out, one more: %d slots of live nodes move", out, row.nodes, needless)
			}
			share := float64(size) / float64(row.nodes-out)
			if got := float64(all) / share; got > row.shares || all < int(share) {
				t.Errorf("%d of %d nodes out, one more: %.2f shares move, want 1 to %v: %s",
					out, row.nodes, got, row.shares, row.why)
			}
		}
	}
}

// Processes that differ about who is out agree about every key whose node in the full ring both believe in.
func TestPartialViewsAgree(t *testing.T) {
	t.Parallel()
	full := of(t, addresses(10)...)
	one := without(t, full, full.nodes[0], full.nodes[3])
	two := without(t, full, full.nodes[3], full.nodes[7], full.nodes[8])
	all, needless := moved(one, two)
	if needless != 0 {
		t.Errorf("they differ about %d slots of nodes that both believe in", needless)
	}
	if all == 0 {
		t.Error("they agree about everything, so this says nothing")
	}
}

// Another list is another table of Maglev's. It moves more keys: at 100 nodes still less than twice what must.
func TestAnotherList(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		nodes  int
		gone   []int
		shares float64 // the most that moves, in shares of one node
		why    string
	}{
		{3, []int{0, 1, 2}, 1.01, ""},
		{10, []int{0, 4, 9}, 1.03, ""},
		{100, []int{0, 50, 99}, 1.42, "the doc says 1.4"},
		{1000, []int{500}, 7, "the doc says 7"},
	} {
		if underRace() {
			row.gone = row.gone[:1]
		}
		full := of(t, addresses(row.nodes)...)
		for _, gone := range row.gone {
			names := addresses(row.nodes)
			less := of(t, append(names[:gone], names[gone+1:]...)...)
			all := 0
			for s := range full.owner {
				if full.nodes[full.owner[s]] != less.nodes[less.owner[s]] {
					all++
				}
			}
			if got := float64(all) * float64(row.nodes) / size; got > row.shares {
				t.Errorf("one less of a list of %d nodes: %.2f shares move, want at most %v: %s",
					row.nodes, got, row.shares, row.why)
			}
		}
	}
}

// The rule of the package doc, taken literally and without shortcuts: a slot of a node that is out goes to the owner of
// the next slot whose node is live and has room.
func TestHandOnIsTheSimpleWalk(t *testing.T) {
	t.Parallel()
	if underRace() {
		t.Skip("walks every slot of a dozen tables in one goroutine")
	}
	clumped := append(addresses(8), "node-30331", "node-144034") // nobody's shortcuts are longer: see TestEven
	for _, row := range []struct {
		nodes []string
		out   []int
	}{
		{addresses(3), []int{1, 2}},
		{addresses(10), []int{1, 5, 9}},
		{clumped, []int{1, 5}},
		{addresses(100), []int{1, 50, 90}},
		{addresses(500), []int{100}},
	} {
		full := of(t, row.nodes...)
		for _, out := range row.out {
			r := without(t, full, row.nodes[:out]...)
			live := len(row.nodes) - out
			share, extra := size/live, size%live
			held := make([]int, len(row.nodes))
			for i, n := range shares(full) {
				if !r.out[i] {
					held[i] = n
					extra -= max(0, n-share)
				}
			}
			room := func(n uint16) bool { return !r.out[n] && (held[n] < share || held[n] == share && extra > 0) }
			for s, heir := range full.home {
				if r.out[heir] {
					for walk := s; !room(heir); {
						walk = (walk + 1) % size
						heir = full.home[walk]
					}
					if held[heir] == share {
						extra--
					}
					held[heir]++
				}
				if r.owner[s] != heir {
					t.Fatalf("%d of %d nodes out: slot %d went to %d, want %d", out, len(row.nodes), s, r.owner[s], heir)
				}
			}
		}
	}
}
