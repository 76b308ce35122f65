module github.com/weir-go/weir/contrib/redislimit/peers

go 1.26.0

replace (
	github.com/weir-go/weir => ../../..
	github.com/weir-go/weir/contrib/redislimit => ..
)

require (
	github.com/alicebob/miniredis/v2 v2.39.0
	github.com/go-redis/redis_rate/v10 v10.0.1
	github.com/redis/go-redis/v9 v9.23.0
	github.com/throttled/throttled/v2 v2.15.0
	github.com/weir-go/weir v0.0.0-00010101000000-000000000000
	github.com/weir-go/weir/contrib/redislimit v0.0.0-00010101000000-000000000000
	go.uber.org/goleak v1.3.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/puzpuzpuz/xsync/v3 v3.5.1 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
)
