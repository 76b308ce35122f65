package redislimit

import "strings"

// slotOf returns the hash slot of a key in a cluster: CRC-16 (XMODEM) of what
// stands between the first { and the next }, or of all if that is nothing, modulo
// the number of slots.
func slotOf(key string) uint16 {
	if _, rest, found := strings.Cut(key, "{"); found {
		if tag, _, found := strings.Cut(rest, "}"); found && tag != "" {
			key = tag
		}
	}
	crc := uint16(0)
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % 16384
}
