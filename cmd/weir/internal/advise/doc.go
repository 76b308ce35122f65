// Package advise finds limits that fit recorded traffic.
//
//	a, err := advise.New(advise.Options{Refuse: share})
//	defer a.Close()
//	summary, err := logs.Read(files, logs.Options{Keys: a.Keys(), Costs: a.Costs()}, a.Add)
//	result, err := a.Result(summary)
//
// # The smallest burst
//
// A limit that refuses nothing is a queue that drains at its rate: the TAT of a key is the instant at which its queue would be
// empty, and what stands in it after a request is the burst that this request needs. So the smallest burst that refuses a key
// nothing is the longest its queue ever was, and one pass finds it for all rates. It is found in the ticks of package gcra, by
// its own reading of the clock, and is exact: a replay with that burst refuses nothing, and with one token less something.
//
// A key is refused something by a smaller burst and by no other, so that the burst that spares all but so many keys is a
// quantile. The one that refuses at most so many requests is found by bisection, a replay a step. Where all costs are equal a
// larger burst never refuses more, so it is the smallest; where they differ a large request that is granted can cost two small
// ones, so that a smaller burst might do as well by chance: what is told satisfies the share, and one token less does not.
//
// # Pacing
//
// Outbound traffic is not refused but waits. Point.Pacing and Advice.Pacing tell how long, if every request had been booked
// with Wait: exact over all requests, quantiles by nearest rank.
//
// # Memory
//
// Requests are noted in about six bytes each, in memory up to Options.Memory and then in a temporary file, because the rates
// to try follow from all of them and a search reads them again. A key costs about 150 bytes, and 16 more a rate while its queue
// is followed; rates are tried in as many turns as Options.Memory takes. Beyond Options.MaxKeys further keys are left out, and
// their requests counted (Result.LeftOut).
package advise
