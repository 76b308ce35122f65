// Package logs reads recorded traffic of many formats as one stream of records in the order of their time.
//
//	keys := []logs.Key{client, whole}
//	summary, err := logs.Read(files, logs.Options{Keys: keys, Costs: costs, Window: 5 * time.Second}, func(r *logs.Record) error {
//		decide(r.Keys[0], r.Time, r.Costs[0])
//		return nil
//	})
//
// It reads Common and Combined log lines (which nginx writes too), JSON objects, one a line, as nginx, Caddy and Envoy write
// them, and CSV and TSV with a header. The first lines tell which. A name that a format or its owner chose otherwise is
// mapped: see Options.Fields. Gzip is recognised by its first bytes.
//
// Nothing is lost silently. A line is a record, or blank, or a header, or broken, and all are counted; the first broken ones
// are kept with the reason. What clients wrote is never believed beyond its own line: a line is bounded (logline.MaxLine),
// so is the depth of an object and the number of records that are held to be sorted.
//
// # Order
//
// Servers write a line when a request ends, so that lines stand out of order by as much as requests take. Records are held
// until the latest time read lies Options.Window ahead and leave in the order of time, and of lines where times are equal.
// One that comes later still is counted as late and leaves at once, with the time of the record before it: time does not
// go back, and an old instant gives no credit.
//
// # Keys
//
// A client is an address without port, brackets and zone: an IPv4 address whole, of an IPv6 address the first 64 bits, which
// is what one subscriber has. IPv4 in IPv6 is IPv4. What is no address, such as a host name, stays as it is.
//
// Of a key of more than 512 bytes the first 512 are kept, and a hash of all.
//
// # Memory and cost
//
// What is held: the records of a window, at most MaxHeld, and a line. A record allocates nothing, whatever its format, except
// where package time has to read its stamp, and where an access log has an ident that is no dash.
package logs
