package logline

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
)

// MaxLine is the longest line, in bytes without its end, that is read. A longer one is broken, and the next line is read as
// usual: no line can take the memory of the process.
const MaxLine = 1 << 20

const (
	bufferSize = 64 << 10
	lineEnd    = 2 // "\r\n"
)

// Lines cuts a stream into lines. A line ends with "\n", "\r\n", or the input. It is for one goroutine.
type Lines struct {
	r    *bufio.Reader
	long []byte // a line that did not fit into r's buffer; reused
}

// Open looks through gzip, by its first bytes and through as many members as there are, and skips a UTF-8 byte order mark, which spreadsheets write.
func Open(r io.Reader) (*Lines, error) {
	br := bufio.NewReaderSize(r, bufferSize)
	packed, err := skip(br, "\x1f\x8b", false)
	if err != nil {
		return nil, err
	}
	if packed {
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, err
		}
		br = bufio.NewReaderSize(z, bufferSize)
	}
	if _, err := skip(br, "\xef\xbb\xbf", true); err != nil {
		return nil, err
	}
	return &Lines{r: br}, nil
}

// skip reports whether the input starts with mark, and if discard is set steps over it. It returns read errors, because
// Peek takes them off the reader, and another read might then go on behind a hole.
func skip(br *bufio.Reader, mark string, discard bool) (bool, error) {
	head, err := br.Peek(len(mark))
	if err != nil && err != io.EOF {
		return false, err
	}
	if string(head) != mark {
		return false, nil
	}
	if discard {
		_, err = br.Discard(len(mark))
		return true, err
	}
	return true, nil
}

// Next returns a line without its end, valid until the next call. The error is io.EOF after the last line and a *LongLine
// for a line of more than MaxLine bytes; any other means that the input was cut off.
func (l *Lines) Next() ([]byte, error) {
	part, err := l.r.ReadSlice('\n')
	if err == nil {
		return trimEnd(part), nil
	}
	l.long = l.long[:0]
	var size int64
	for {
		size += int64(len(part))
		room := MaxLine + lineEnd - len(l.long)
		l.long = append(l.long, part[:min(len(part), room)]...)
		if err != bufio.ErrBufferFull {
			break
		}
		part, err = l.r.ReadSlice('\n')
	}
	if err != nil && err != io.EOF {
		return nil, err
	}
	if size == 0 {
		return nil, io.EOF
	}
	if size <= MaxLine+lineEnd { // it is whole, with its end
		if line := trimEnd(l.long); len(line) <= MaxLine {
			return line, nil
		}
	}
	return nil, &LongLine{size: size, head: l.long}
}

func trimEnd(b []byte) []byte {
	b = bytes.TrimSuffix(b, []byte("\n"))
	return bytes.TrimSuffix(b, []byte("\r"))
}

// A LongLine is the error that says that the line just read is longer than MaxLine. The next one can be read as usual.
type LongLine struct {
	size int64 // with the line's end
	head []byte
}

func (e *LongLine) Error() string {
	return fmt.Sprintf("%d bytes are more than %d: %s", e.size, MaxLine, Show(e.head))
}

// Show quotes a value for a message, and cuts it at 60 bytes.
func Show(b []byte) string {
	const most = 60
	if len(b) > most {
		return fmt.Sprintf("%q...", b[:most])
	}
	return fmt.Sprintf("%q", b)
}
