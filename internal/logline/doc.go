// Package logline reads recorded traffic line by line: the lines of a stream, the fields of a CSV line, a web server's log
// line, and instants, each exactly and without trust in what clients wrote.
//
//	in, err := logline.Open(r) // looks through gzip
//	for err == nil {
//		var line []byte
//		if line, err = in.Next(); err == nil {
//			decide(line) // valid until the next call
//		}
//	}
//
// A line is cut at MaxLine bytes, so that none takes the memory of the process, and a quote left open breaks its own line and
// nothing below it. Instants are nanoseconds since the Unix epoch in an int64, the years 1677 to 2262, and never pass
// through a float. What the usual formats write is read without an allocation; package time reads the rest.
//
// It keeps nothing between lines, and what it returns points into the line.
package logline
