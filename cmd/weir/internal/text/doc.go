// Package text is how the weir command prints for people: tables, small plots, limits in words, in Go and as an HTTP field.
//
// It writes plain text of Style.Width columns where it can, with block characters or without, and never a colour or a control
// character; what came from a log is quoted where it could do anything to a terminal. Floats are in the plots only.
package text
