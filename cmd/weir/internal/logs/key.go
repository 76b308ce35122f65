package logs

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Key says what tells one key from another. The zero Key is the default: a column "key" if the input has one, else the
// client.
type Key struct {
	parts []slot
	whole bool // everything is one key
}

// ParseKey reads "client", "method", "path", "header:NAME", "field:NAME", several of them with commas between, or "all" (or
// "none") for one key in all. Any other word is a field's name.
func ParseKey(s string) (Key, error) {
	switch s {
	case "all", "none":
		return Key{whole: true}, nil
	case "":
		return Key{}, errors.New("key is empty: want client, path, header:NAME, field:NAME, several with commas, or all")
	}
	var k Key
	for word := range strings.SplitSeq(s, ",") {
		p, err := parseSlot(strings.TrimSpace(word))
		if err != nil {
			return Key{}, fmt.Errorf("key %.60q: %w", s, err)
		}
		if slices.Contains(k.parts, p) {
			return Key{}, fmt.Errorf("key %.60q: %v is named twice", s, p)
		}
		k.parts = append(k.parts, p)
	}
	return k, nil
}

func parseSlot(word string) (slot, error) {
	if k, ok := kinds[word]; ok {
		return slot{kind: k}, nil
	}
	p := slot{field, word}
	if name, ok := strings.CutPrefix(word, "header:"); ok {
		p = slot{header, name}
	} else if name, ok := strings.CutPrefix(word, "field:"); ok {
		p.name = name
	}
	switch {
	case p.name == "":
		return slot{}, fmt.Errorf("%q names nothing", word)
	case word == "all" || word == "none":
		return slot{}, fmt.Errorf("%q stands alone", word)
	}
	return p, nil
}

// Default reports whether k is the zero Key.
func (k Key) Default() bool { return !k.whole && k.parts == nil }

// String returns what ParseKey reads back, and "default" for the zero Key.
func (k Key) String() string {
	switch {
	case k.whole:
		return "all"
	case k.parts == nil:
		return "default"
	}
	var words []string
	for _, p := range k.parts {
		words = append(words, p.String())
	}
	return strings.Join(words, ",")
}

// longest is how many bytes of a key are kept as they are. Clients choose their paths and headers, and millions of long ones
// would take the memory of the process; the hash of all bytes, which follows them, keeps different keys apart.
const longest = 512

// append appends the key that the values make.
func (k *Key) append(dst []byte, vals [][]byte) ([]byte, error) {
	from := len(dst)
	for i, v := range vals {
		if len(v) == 0 {
			return dst, fmt.Errorf("no value for %v", k.parts[i])
		}
		if i > 0 {
			dst = append(dst, between...)
		}
		switch {
		case k.parts[i].kind == client:
			dst = appendClient(dst, bytes.TrimSpace(v))
		case len(vals) > 1 && bytes.IndexByte(v, 0) >= 0:
			dst = append(dst, bytes.ReplaceAll(v, []byte{0}, []byte(nul))...)
		default:
			dst = append(dst, v...)
		}
	}
	if len(dst)-from > longest {
		sum := sha256.Sum256(dst[from:])
		dst = fmt.Appendf(dst[:from+longest], "...%x", sum[:16])
	}
	return dst, nil
}

// Between the parts of a key stand two bytes that no part has, because a NUL within one is written as two others: no two
// keys look the same.
const (
	between = "\x00\x02"
	nul     = "\x00\x01"
)

// KeyText is a key of a Record for people: its parts with spaces between, and "all" for the one key of everything.
func KeyText(key []byte) string {
	if len(key) == 0 {
		return "all"
	}
	if bytes.IndexByte(key, 0) < 0 {
		return string(key)
	}
	return strings.NewReplacer(between, " ", nul, "\x00").Replace(string(key))
}
