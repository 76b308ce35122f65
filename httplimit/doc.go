// Package httplimit puts limits where net/http is: middleware that refuses what
// a limiter refuses, in front of a server's handlers, and a [Transport] that
// holds a client's requests until it is their turn.
//
//	clients := shard.New[netip.Prefix](gcra.PerSecond(10).Burst(50), shard.WithMaxKeys(1_000_000, shard.Refuse))
//	limited := httplimit.New(httplimit.Local(clients), httplimit.RemoteAddr)
//	http.ListenAndServe(":8080", limited(mux))
//
// It knows limiters by one method: [Limiter] decides, perhaps on another
// machine, and [Waiter] waits. The limiters of package shard fit both.
//
// # Whose request it is
//
// A limit is as good as its key. The address in X-Forwarded-For is what the
// client wrote there, unless the proxy in front is known; so there is no default,
// and whoever wants an address says which: [RemoteAddr] for the connection's, or
// [ClientAddr] with the proxies that are trusted. Where an address has to be and
// is not, or a key is the zero value, the request has no key. It gets an error,
// not a bucket: a bucket of all requests without a key would be emptied by
// anybody who leaves the key out. Forwarded (RFC 7239), X-Real-IP and their like
// are not read.
//
// # Answers
//
//   - A refused request gets 429 Too Many Requests with Cache-Control: no-store
//     and Retry-After, in whole seconds, rounded up, at least 1. A client that
//     waits that long is not refused, if nobody else takes from its bucket, and
//     if the limiter has room for its key.
//   - 413 Content Too Large, if it costs more than the burst: no later time is
//     better, only a smaller request, and clients do not repeat a 413 as they do
//     a 429. A limit that never refills, or gives nothing, answers with 429. None
//     of these has a Retry-After.
//   - 400 Bad Request without a key or with a negative cost, and 503 Service
//     Unavailable if the limiter has no answer, unless [WithErrorHandler] decides
//     otherwise.
//
// The ResponseWriter goes through to the handlers as it is, so that flushing,
// hijacking and [http.ResponseController] work; and nothing is given back: a
// request that was granted has been paid for, also if its handler fails or its
// client goes away. Whoever knows the outcome can charge it afterwards, as the
// Debit and Settle of packages atomic and shard do.
//
// # What responses say of the limit
//
// All responses to requests on which there is a decision, granted or refused,
// have the fields of draft-ietf-httpapi-ratelimit-headers-11:
//
//	RateLimit-Policy: "default";q=100;w=60
//	RateLimit: "default";r=50;t=30
//
// They say:
//
//   - q is the burst, and w the seconds in which it refills, rounded up. w is
//     left out if it never does. A burst that refills in less than a second is
//     told as if it took one, so it looks slower than it is.
//   - r is what is left, in whole tokens. t is the seconds in which the limit
//     lets that many through at its rate, rounded up: a client that spreads r
//     over t never exceeds the rate, although it could. With r = 0, t is the time
//     until there is a token, or an interval, if that is less; with InSteps
//     perhaps a step longer. It is left out if nothing refills, or not within
//     centuries.
//   - In a refusal t is Retry-After, and r no more than comes in that time,
//     although a request that asked for many tokens may have been refused with
//     more left.
//   - Integers stop at 15 digits, the range of structured fields. There is no pk:
//     keys are not told to anybody.
//
// They are absent where there is nothing to say: under Unlimited, from requests
// that [WithSkip] lets pass or [WithDryRun] only tries, and from those without a
// decision, whether answered with 400 or 503 or served by an error handler.
//
// Nested middleware adds its items to those of the middleware around it, and a
// refusal keeps the RateLimit item of the limit that refused. But an outer
// limit has been charged when an inner one refuses; for all or nothing, decide
// them together in [Func], and name each by [WithPolicy].
//
// # Counting
//
// A limiter counts what it decides, if it does. [WithObserver] hears of all
// requests that a limiter was asked about or should have been: of those without a
// key or a decision, too, and of those that [WithDryRun] served although the limit
// would not. The Counter of contrib/metrics makes metrics of that.
//
// # The other side
//
// [Transport] paces before a server has to refuse, and when one does, it keeps
// the pause that was asked for, for all requests of that key. See there for what
// it understands.
package httplimit
