// Package grpclimit limits gRPC calls and messages, in servers and in clients.
//
//	clients := shard.New[netip.Prefix](gcra.PerSecond(50).Burst(100), shard.WithMaxKeys(1_000_000, shard.Refuse))
//	limit := grpclimit.Local(clients)
//	server := grpc.NewServer(
//		grpc.ChainUnaryInterceptor(grpclimit.UnaryServer(limit, grpclimit.PeerPrefix)),
//		grpc.ChainStreamInterceptor(grpclimit.StreamServer(limit, grpclimit.PeerPrefix)),
//	)
//
// Whom a call is charged to says a function of its context and its full method,
// which has to be given: there is no key that is right everywhere. If it fails,
// or returns the zero key, such as an empty text, the call fails; it is never
// charged to a bucket that all such calls share.
//
// # What a refused caller gets
//
// The status ResourceExhausted, with these details:
//
//   - RetryInfo: when the same call would pass if nobody else asked, to the
//     nanosecond. There is none if it never can.
//   - QuotaFailure: the name of the policy and the limit. Never the key.
//
// A server also sends the trailer grpc-retry-pushback-ms, which gRPC clients
// obey whose service config has a retryPolicy with RESOURCE_EXHAUSTED among its
// codes: they retry after that many milliseconds, rounded up, instead of after
// their own backoff. It is -1, "do not retry", where a retry by itself would
// not do: the cost can never pass; the pause would end after the call's
// deadline, or be longer than [WithMaxPushback]; or the call is a stream of which
// messages have been charged already, which a retry would send and charge
// again. A client stops waiting for a pause only with its context, so callers
// who retry should have deadlines.
//
// A client obeys only if the answer has no headers, so nothing before the
// interceptor should send any, and only if nobody else sets the trailer.
//
// # Clients
//
// [UnaryClient] and [StreamClient] keep a client to a limit of its own. With
// [Local] a call that comes too early fails at once, with the error that a
// server would have sent; with [Waiting] it waits for its slot. They see
// calls, not attempts: what gRPC retries by itself below them is not charged
// again, and the server's pushback is obeyed there and not here.
//
// # Streams
//
// Opening a stream is charged like a call. With [WithMessages] it is not, and
// each message is: in a server those that it receives, in a client those that
// it sends. A message that is refused ends what can be received, or sent.
// In a server, RecvMsg returns the refusal from then on and the handler
// decides what becomes of the stream; usually it returns the error, and that
// is what the client gets. In a client, SendMsg returns the refusal without
// having sent anything, and the stream is cancelled, so that nothing is left
// behind for a caller who goes away. To hold a stream back instead, use Waiting:
// then RecvMsg and SendMsg wait, and in a server the flow control of HTTP/2 makes
// the client wait too. Streams that carry no message cost nothing then; chain
// a second interceptor to limit openings.
//
// # Counting
//
// [WithObserver] hears of each call or message: what was decided, whether it
// passed, and why there was no decision. The Counter of contrib/metrics makes
// metrics of that.
//
// # What it does not do
//
// It does not bound the calls under way (grpc.MaxConcurrentStreams does that
// for a connection), tell limits of one call apart in an answer beyond the one
// that refused, or read addresses from headers: who has a proxy before the
// server writes a key function that knows it.
package grpclimit
