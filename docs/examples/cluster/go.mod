module github.com/weir-go/weir/docs/examples/cluster

go 1.26.0

replace github.com/weir-go/weir => ../../..

require (
	github.com/weir-go/weir v0.0.0-00010101000000-000000000000
	go.uber.org/goleak v1.3.0
)

require (
	github.com/dchest/siphash v1.2.3 // indirect
	github.com/dgryski/go-maglev v0.0.0-20200611225407-8961b9b1b8e6 // indirect
	github.com/puzpuzpuz/xsync/v3 v3.5.1 // indirect
)
