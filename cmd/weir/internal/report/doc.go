// Package report writes what weir replay and weir advise found as one page of HTML: to mail, to attach to an issue, to print.
//
// The page is self-contained. Its style and its drawings (inline SVG) are inside, it has no script, and its content security
// policy forbids it to fetch anything. It is light or dark as the reader's system is, and each drawing is there twice, for a
// phone and for a wide window, of which one is shown. It is also well-formed XML, so that tests can take it apart.
//
// The same result gives the same bytes: nothing in a page depends on the time or the place it was written at.
//
// Keys, names of files and pieces of log lines are hostile. What is not plainly printable is quoted as in Go, what is very
// long is cut and says so, and html/template escapes the rest; drawings hold no text from a log.
//
// With Options.Hide, files are numbered: a file's name often holds a customer's or a host's. Keys are hidden already, in the
// results; names of limits and of fields are the caller's own words and stay.
//
// Numbers are those of the results. Floats are in the drawings only.
package report
