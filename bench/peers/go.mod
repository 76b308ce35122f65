module github.com/weir-go/weir/bench/peers

go 1.26.0

require (
	github.com/puzpuzpuz/xsync/v3 v3.5.1
	github.com/sethvargo/go-limiter v0.7.1
	github.com/weir-go/weir v0.0.0-00010101000000-000000000000
	go.uber.org/goleak v1.3.0
	go.uber.org/ratelimit v0.3.1
	golang.org/x/time v0.16.0
)

require github.com/benbjohnson/clock v1.3.0 // indirect

replace github.com/weir-go/weir => ../..
