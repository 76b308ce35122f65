// Package histories checks that concurrent operations on one limiter come to what
// some order of them would have come to: that they are linearizable. All of it is
// tests, in a module of its own, so that nobody who imports weir needs the
// checker, github.com/anishathalye/porcupine.
//
// A history is two to four clients with four to eight operations each, which are
// written down with the order of their calls and returns, every reading of the
// clock that they made, and every number of every decision that came back. The
// clock is moved by hand, by the clients too, and lets others go first where it
// is read. The checker then looks for an order that the sequential limiter in
// model_test.go explains. It forgets no key; so a key that an engine forgets has
// to be the same as one that it kept.
//
//	go test ./stress/histories                               some thousand histories
//	go test ./stress/histories -run Histories -long 5m       for 5 minutes an engine
//	go test ./stress/histories -run Histories/Join -seed 7 -same -long 1m
//
// The last one runs the program of one seed again and again. What a seed cannot
// repeat is how its clients met; so a history that nothing explains is printed.
//
// Twins with one fault each show that the checker finds what it is there for.
//
// Not looked at are waiting, the policy of a full limiter, Save and Load, batches,
// and the order in which memory is seen by other processors than those at hand.
package histories
