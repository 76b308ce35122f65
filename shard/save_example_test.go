package shard_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// replaceFile writes a file so that a crash at any moment leaves either the old
// content or the new: to another file in the same directory, which is renamed
// when all of it is on the disk.
func replaceFile(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // of no effect after the rename
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// loadFile loads the balances, if there are any.
func loadFile(path string, load func(io.Reader) error) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the first start
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return load(f)
}

// A deploy that does not hand every client a fresh burst: the program saves
// when it stops serving, and loads before it starts to.
func ExampleLimiter_Save() {
	dir, err := os.MkdirTemp("", "weir")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "balances")

	limit := gcra.PerDay(10).Burst(10)
	start := func() *shard.Limiter[string] {
		limiter := shard.New[string](limit)
		if err := loadFile(path, limiter.Load); err != nil {
			// Nothing was changed: every client has the burst of a new one.
			fmt.Println("balances are lost:", err)
		}
		return limiter
	}

	limiter := start()
	fmt.Println(limiter.Take("ann", 7).Remaining(), limiter.Take("bob", 10).Remaining())
	if err := replaceFile(path, limiter.Save); err != nil {
		fmt.Println(err)
	}

	limiter = start() // in the next process
	for _, client := range []string{"ann", "bob", "cid"} {
		fmt.Println(client, limiter.Peek(client, 0).Remaining())
	}
	// Output:
	// 3 0
	// ann 3
	// bob 0
	// cid 10
}

// A plan may have changed with the deploy: clients keep the tokens that they
// had, and no more than the new burst.
func ExampleLimiter_Load() {
	old := shard.New[string](gcra.PerDay(10).Burst(10))
	old.Take("ann", 7)
	r, w := io.Pipe()
	go func() { w.CloseWithError(old.Save(w)) }()

	limiter := shard.New[string](gcra.Every(time.Hour).Burst(5))
	if err := limiter.Load(r); err != nil {
		fmt.Println(err)
	}
	fmt.Println(limiter.Peek("ann", 0).Remaining(), limiter.Peek("bob", 0).Remaining())
	fmt.Println(limiter.Load(r))
	// Output:
	// 3 5
	// weir: Load into a limiter that has keys already: load before the first decision
}
