module github.com/weir-go/weir/bench/peers

go 1.26.0

require (
	github.com/didip/tollbooth/v7 v7.0.2
	github.com/puzpuzpuz/xsync/v3 v3.5.1
	github.com/sethvargo/go-limiter v0.7.1
	github.com/throttled/throttled/v2 v2.15.0
	github.com/ulule/limiter/v3 v3.11.2
	github.com/weir-go/weir v0.0.0-00010101000000-000000000000
	go.uber.org/goleak v1.3.0
	go.uber.org/ratelimit v0.3.1
	golang.org/x/time v0.16.0
)

require (
	github.com/benbjohnson/clock v1.3.0 // indirect
	github.com/go-pkgz/expirable-cache/v3 v3.0.0 // indirect
	github.com/hashicorp/golang-lru v0.5.4 // indirect
	github.com/loov/hrtime v1.0.3 // indirect
	github.com/pkg/errors v0.9.1 // indirect
)

replace github.com/weir-go/weir => ../..
