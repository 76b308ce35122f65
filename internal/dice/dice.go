// Package dice makes the random numbers of generated test data: the same on every platform and with every Go version.
package dice

// A Dice is splitmix64; its value is the seed. It is for one goroutine.
type Dice uint64

// Roll returns a number below n, which is above 0. The bias of the remainder is harmless in test data.
func (d *Dice) Roll(n int) int {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(n))
}

// Skewed returns a number below n, small ones far more often.
func (d *Dice) Skewed(n int) int { return d.Roll(d.Roll(n) + 1) }
