package shard

import (
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
)

// ErrKey is returned by Save and Load of a limiter whose keys cannot be
// written: they are neither strings, integers nor arrays of bytes, and have no
// MarshalBinary or MarshalText with the way back.
var ErrKey = errors.New("weir: keys that cannot be saved")

// A codec turns keys into bytes and back. It has one key in place that it
// works on, so that a type is looked at once and no key is boxed.
type codec[K comparable] struct {
	kind   string // the stream's word for such keys
	key    *K
	append func(b []byte) ([]byte, error)
	parse  func(b []byte) error
}

// newCodec goes by the kind of the key type first, named or not: what is
// written is then the key itself, and no method can lose a part of it.
func newCodec[K comparable]() (*codec[K], error) {
	c := &codec[K]{key: new(K)}
	v := reflect.ValueOf(c.key).Elem()
	switch t := v.Type(); {
	case t.Kind() == reflect.String:
		c.kind = "string"
		c.append = func(b []byte) ([]byte, error) { return append(b, v.String()...), nil }
		c.parse = func(b []byte) error { v.SetString(string(b)); return nil }
	case v.CanInt():
		c.kind = "int"
		c.append = func(b []byte) ([]byte, error) { return binary.AppendVarint(b, v.Int()), nil }
		c.parse = func(b []byte) error {
			i, n := binary.Varint(b)
			if n < 1 || n != len(b) || v.OverflowInt(i) {
				return fmt.Errorf("%x is no %v", b, t)
			}
			v.SetInt(i)
			return nil
		}
	case v.CanUint():
		c.kind = "uint"
		c.append = func(b []byte) ([]byte, error) { return binary.AppendUvarint(b, v.Uint()), nil }
		c.parse = func(b []byte) error {
			u, n := binary.Uvarint(b)
			if n < 1 || n != len(b) || v.OverflowUint(u) {
				return fmt.Errorf("%x is no %v", b, t)
			}
			v.SetUint(u)
			return nil
		}
	case t.Kind() == reflect.Array && t.Elem().Kind() == reflect.Uint8:
		c.kind = fmt.Sprintf("[%d]byte", t.Len())
		c.append = func(b []byte) ([]byte, error) { return append(b, v.Bytes()...), nil }
		c.parse = func(b []byte) error {
			if copy(v.Bytes(), b); len(b) != t.Len() {
				return fmt.Errorf("%d bytes are no %v", len(b), t)
			}
			return nil
		}
	default:
		if !c.marshaler() {
			return nil, fmt.Errorf("%w: %v is no string, integer or array of bytes, and has no methods for it", ErrKey, t)
		}
	}
	return c, nil
}

// marshaler sets the codec up for a key type with methods of its own.
func (c *codec[K]) marshaler() bool {
	switch key := any(c.key).(type) {
	case interface {
		encoding.BinaryAppender
		encoding.BinaryUnmarshaler
	}:
		c.kind, c.append, c.parse = "binary", key.AppendBinary, key.UnmarshalBinary
	case interface {
		encoding.BinaryMarshaler
		encoding.BinaryUnmarshaler
	}:
		c.kind, c.append, c.parse = "binary", appender(key.MarshalBinary), key.UnmarshalBinary
	case interface {
		encoding.TextMarshaler
		encoding.TextUnmarshaler
	}:
		c.kind, c.append, c.parse = "text", appender(key.MarshalText), key.UnmarshalText
	default:
		return false
	}
	write := c.append
	c.append = func(b []byte) ([]byte, error) {
		want, start := *c.key, len(b)
		b, err := write(b)
		if err != nil {
			return b, err
		}
		// A key that comes back as another would lose its balance, and two
		// that come back as one would share theirs.
		if got, err := c.decode(b[start:]); err != nil || got != want {
			return b, fmt.Errorf("%w: %v does not come back from its own %s form", ErrKey, want, c.kind)
		}
		return b, nil
	}
	return true
}

func appender(marshal func() ([]byte, error)) func(b []byte) ([]byte, error) {
	return func(b []byte) ([]byte, error) {
		key, err := marshal()
		return append(b, key...), err
	}
}

func (c *codec[K]) encode(b []byte, key K) ([]byte, error) {
	*c.key = key
	return c.append(b)
}

func (c *codec[K]) decode(b []byte) (K, error) {
	var zero K
	*c.key = zero // a method may leave alone what the bytes say nothing of
	err := c.parse(b)
	if key := *c.key; err != nil || key == key {
		return key, err
	}
	return zero, errors.New("it is not equal to itself")
}
