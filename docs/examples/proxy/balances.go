package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"

	"github.com/weir-go/weir/shard"
)

// loadBalances loads what an earlier process saved. A file that is damaged, or
// none of balances, is set aside, so that the next saving does not destroy what
// somebody may want to look at, and the service starts without it: to refuse to
// start would be worse for all than a burst for each client. Every other error
// is returned: a file that is not to be read now might be overwritten later.
func loadBalances[K comparable](path string, into *shard.Limiter[K], log *slog.Logger) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		log.Info("no balances yet", "file", path)
		return nil
	}
	if err != nil {
		return err
	}
	err = into.Load(f)
	f.Close() // before it is renamed, for Windows
	if !errors.Is(err, shard.ErrFormat) {
		if err != nil {
			err = fmt.Errorf("balances of %s: %w", path, err)
		}
		return err
	}
	aside := path + ".broken"
	if err := os.Rename(path, aside); err != nil {
		return err
	}
	log.Error("balances are lost, all clients begin with a full bucket", "file", path, "aside", aside, "err", err)
	return nil
}

// replaceFile writes a file so that a crash at any moment leaves either the old
// content or the new: to another file in the same directory, which is renamed
// when all of it is on the disk.
func replaceFile(path string, write func(io.Writer) error) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // of no effect after the rename
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	if runtime.GOOS == "windows" {
		return nil // where directories cannot be synced
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close()) // now the rename is on the disk too
}
