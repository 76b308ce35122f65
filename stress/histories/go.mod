module github.com/weir-go/weir/stress/histories

go 1.26.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/weir-go/weir v0.0.0-00010101000000-000000000000
	go.uber.org/goleak v1.3.0
)

require github.com/puzpuzpuz/xsync/v3 v3.5.1 // indirect

replace github.com/weir-go/weir => ../..
