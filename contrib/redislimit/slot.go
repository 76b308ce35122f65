package redislimit

import "strings"

// tagOf returns what of a key decides where it is kept: what stands between the first
// { and the next }, or all if that is nothing.
func tagOf(key string) string {
	if _, rest, found := strings.Cut(key, "{"); found {
		if tag, _, found := strings.Cut(rest, "}"); found && tag != "" {
			return tag
		}
	}
	return key
}

// slotOf returns the hash slot of a key in a cluster: CRC-16 (XMODEM) of its tag,
// modulo the number of slots.
func slotOf(key string) uint16 {
	key = tagOf(key)
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
