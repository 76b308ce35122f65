package report

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrNoFile is what the name of a page that is no regular file is refused with: a folder, a device, a pipe. Those are not replaced.
var ErrNoFile = errors.New("not a regular file")

// Check reports whether Save could write a file of that name now, so that nobody learns it after an hour of reading. It leaves
// nothing behind.
func Check(name string) error {
	name, _, err := target(name)
	if err != nil {
		return err
	}
	f, err := create(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Save writes a file, whole or not at all: it writes beside it, and renames. A file that is there is replaced and keeps its
// mode; a symbolic link stays one. What was there stays there if it fails.
func Save(name string, data []byte) (err error) {
	name, mode, err := target(name)
	if err != nil {
		return err
	}
	f, err := create(name)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(data); err == nil && mode != 0 {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	return os.Rename(f.Name(), name)
}

// target follows symbolic links, and returns the mode of the file that is there: 0 for none.
func target(name string) (string, fs.FileMode, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if to, err := os.Readlink(name); err == nil {
			return name, 0, fmt.Errorf("cannot write %s: it is a link to %s, which does not exist", name, to)
		}
		return name, 0, nil
	case err != nil:
		return name, 0, err
	case !info.Mode().IsRegular():
		return name, 0, fmt.Errorf("cannot write %s: %w", name, ErrNoFile)
	}
	real, err := filepath.EvalSymlinks(name)
	return real, info.Mode().Perm(), err
}

// create makes a new file beside the one of that name, with the mode that any new file has here.
func create(name string) (*os.File, error) {
	beside := filepath.Join(filepath.Dir(name), ".weir-"+rand.Text()+".tmp")
	f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot write %s: the directory %s does not exist: %w", name, filepath.Dir(name), fs.ErrNotExist)
	}
	if p := new(fs.PathError); errors.As(err, &p) {
		return nil, fmt.Errorf("cannot write %s: %w", name, p.Err) // the other name would say nothing
	}
	return f, err
}
