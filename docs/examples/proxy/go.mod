module github.com/weir-go/weir/docs/examples/proxy

go 1.26.0

replace (
	github.com/weir-go/weir => ../../..
	github.com/weir-go/weir/contrib/metrics => ../../../contrib/metrics
)

require (
	github.com/prometheus/client_golang v1.24.1
	github.com/weir-go/weir v0.0.0-00010101000000-000000000000
	github.com/weir-go/weir/contrib/metrics v0.0.0-00010101000000-000000000000
	go.uber.org/goleak v1.3.0
)

require (
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/pandatix/go-abnf v0.5.5 // indirect
	github.com/prometheus/client_model v0.6.3 // indirect
	github.com/prometheus/common v0.74.0 // indirect
	github.com/prometheus/procfs v0.21.1 // indirect
	github.com/puzpuzpuz/xsync/v3 v3.5.1 // indirect
	golang.org/x/sys v0.49.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
