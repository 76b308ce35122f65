package advise

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// A spool holds requests in the order in which they came, to be read any number of times: in memory first, and what does not
// fit there in a temporary file.
type spool struct {
	room   int64 // bytes of memory left
	blocks [][]byte
	file   *os.File
	named  bool // the file has still its name
	w      *bufio.Writer
	bytes  int64 // in the file
	first  int64 // time of the first request
	last   int64
	count  int64
}

// A request is what is noted of a record.
type request struct {
	at   int64 // nanoseconds since the Unix epoch; never decreases
	key  int32
	cost int64
}

const (
	blockSize = 1 << 20
	mostBytes = 3 * binary.MaxVarintLen64 // of one request
)

func (s *spool) add(r request) error {
	if s.count == 0 {
		s.first, s.last = r.at, r.at
	}
	var b []byte
	var whole [mostBytes]byte
	inMemory := s.file == nil
	if n := len(s.blocks); inMemory {
		if n == 0 || len(s.blocks[n-1]) > blockSize-mostBytes {
			if s.room < blockSize {
				if err := s.spill(); err != nil {
					return err
				}
				inMemory = false
			} else {
				s.room -= blockSize
				s.blocks = append(s.blocks, make([]byte, 0, blockSize))
			}
		}
	}
	if b = whole[:0]; inMemory {
		b = s.blocks[len(s.blocks)-1]
	}
	b = binary.AppendUvarint(b, uint64(r.at)-uint64(s.last))
	b = binary.AppendUvarint(b, uint64(r.key))
	b = binary.AppendUvarint(b, uint64(r.cost))
	s.last = r.at
	s.count++
	if inMemory {
		s.blocks[len(s.blocks)-1] = b
		return nil
	}
	s.bytes += int64(len(b))
	_, err := s.w.Write(b)
	return err
}

// spill opens the file.
func (s *spool) spill() (err error) {
	if s.file, err = os.CreateTemp("", "weir-advise-*"); err != nil {
		return fmt.Errorf("the requests do not fit into the memory allowed, and: %w", err)
	}
	// Where that works, nothing is left behind however the process ends.
	s.named = os.Remove(s.file.Name()) != nil
	s.w = bufio.NewWriterSize(s.file, blockSize)
	return nil
}

// close takes the file away.
func (s *spool) close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if s.named {
		err = errors.Join(err, os.Remove(s.file.Name()))
	}
	return err
}

// each calls f with every request, in order.
func (s *spool) each(f func(request)) error {
	at := s.first
	for _, b := range s.blocks {
		for len(b) > 0 {
			b = read(b, &at, f)
		}
	}
	if s.file == nil {
		return nil
	}
	if err := s.w.Flush(); err != nil {
		return err
	}
	in := io.NewSectionReader(s.file, 0, s.bytes)
	buf := make([]byte, blockSize)
	for have := 0; ; {
		n, err := io.ReadFull(in, buf[have:])
		more := err == nil
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
		b := buf[:have+n]
		for len(b) >= mostBytes || !more && len(b) > 0 {
			b = read(b, &at, f)
		}
		if !more {
			return nil
		}
		have = copy(buf, b)
	}
}

func read(b []byte, at *int64, f func(request)) []byte {
	past, n := uvarint(b)
	key, m := uvarint(b[n:])
	cost, l := uvarint(b[n+m:])
	*at = int64(uint64(*at) + past)
	f(request{*at, int32(key), int64(cost)})
	return b[n+m+l:]
}

// uvarint is binary.Uvarint with the usual single byte first.
func uvarint(b []byte) (uint64, int) {
	if b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return binary.Uvarint(b)
}
