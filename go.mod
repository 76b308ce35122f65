module github.com/weir-go/weir

go 1.26.0

require (
	github.com/dgryski/go-maglev v0.0.0-20200611225407-8961b9b1b8e6
	github.com/loov/hrtime v1.0.3
	github.com/puzpuzpuz/xsync/v3 v3.5.1
	go.uber.org/goleak v1.3.0
)

require github.com/dchest/siphash v1.2.3 // indirect
