package replay

import "hash/maphash"

// An index finds the row of a key. It is an open hash table of row numbers: a key, its hash and its count stand together in
// the row, so that a lookup in millions of keys waits for memory twice, where a map of strings waits four times. Keys of
// up to inline bytes, which addresses are, allocate nothing.
type index struct {
	seed  maphash.Seed
	slots []uint64 // hash<<32 | row+1; 0 is free. A key stands between its home and the next free slot.
	shift int      // 32 less the bits of a home
	rows  []row
	live  int
	long  map[int32]string // of rows whose key does not fit
}

// A row is a key with what it asked, in half a cache line.
type row struct {
	asked int64
	size  uint8 // of short, or isLong or unused
	short [inline]byte
}

const (
	inline = 23
	isLong = 254
	unused = 255
)

func newIndex() *index {
	return &index{seed: maphash.MakeSeed(), slots: make([]uint64, 1<<10), shift: 32 - 10, long: make(map[int32]string)}
}

func (x *index) hash(key []byte) uint64 { return maphash.Bytes(x.seed, key) >> 32 }

func (x *index) home(hash uint64) int { return int(hash >> x.shift) }

// find returns the row of the key, or noRow.
func (x *index) find(hash uint64, key []byte) int32 {
	for i := x.home(hash); ; i = (i + 1) & (len(x.slots) - 1) {
		s := x.slots[i]
		if s == 0 {
			return noRow
		}
		if s>>32 == hash {
			if n := int32(uint32(s)) - 1; x.is(n, key) {
				return n
			}
		}
	}
}

func (x *index) is(n int32, key []byte) bool {
	r := &x.rows[n]
	if r.size == isLong {
		return x.long[n] == string(key)
	}
	return int(r.size) == len(key) && string(r.short[:r.size]) == string(key)
}

func (x *index) key(n int32) string {
	r := &x.rows[n]
	if r.size == isLong {
		return x.long[n]
	}
	return string(r.short[:r.size])
}

// insert gives a key that is not there the row n, which is not in use.
func (x *index) insert(hash uint64, key []byte, n int32) {
	if x.live*4 >= len(x.slots)*3 && x.shift > 0 {
		old := x.slots
		x.slots = make([]uint64, 2*len(old))
		x.shift--
		for _, s := range old {
			if s != 0 {
				x.place(s)
			}
		}
	}
	r := &x.rows[n]
	*r = row{}
	if len(key) > inline {
		r.size, x.long[n] = isLong, string(key)
	} else {
		r.size = uint8(copy(r.short[:], key))
	}
	x.place(hash<<32 | uint64(uint32(n+1)))
	x.live++
}

func (x *index) place(s uint64) {
	i := x.home(s >> 32)
	for x.slots[i] != 0 {
		i = (i + 1) & (len(x.slots) - 1)
	}
	x.slots[i] = s
}

// remove takes the row out and closes the gap.
func (x *index) remove(n int32) {
	mask := len(x.slots) - 1
	gap := x.home(x.hash([]byte(x.key(n))))
	for uint32(x.slots[gap]) != uint32(n+1) {
		gap = (gap + 1) & mask
	}
	for i := (gap + 1) & mask; x.slots[i] != 0; i = (i + 1) & mask {
		// What has its home after the gap cannot move into it.
		if home := x.home(x.slots[i] >> 32); (i-home)&mask >= (i-gap)&mask {
			x.slots[gap] = x.slots[i]
			gap = i
		}
	}
	x.slots[gap] = 0
	x.rows[n] = row{size: unused}
	delete(x.long, n)
	x.live--
}
