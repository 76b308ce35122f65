package report

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// names lists a folder.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		all = append(all, f.Name())
	}
	return all
}

func TestSave(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "report.html")
	for _, text := range []string{"first", "second, which is longer", "3rd", ""} {
		if err := Check(file); err != nil {
			t.Fatal(err)
		}
		if err := Save(file, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); string(got) != text || err != nil {
			t.Errorf("%q is in the file, want %q: %v", got, text, err)
		}
	}
	if all := names(t, dir); len(all) != 1 {
		t.Errorf("the folder holds %q", all)
	}
}

// The new page comes by renaming: whoever reads the old one reads on.
func TestSaveReplaces(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be replaced on Windows")
	}
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte("the old page"), 0o640); err != nil {
		t.Fatal(err)
	}
	old, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := Save(file, []byte("new")); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 100)
	if n, _ := old.Read(text); string(text[:n]) != "the old page" {
		t.Errorf("who has the old page open reads %q", text[:n])
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if was, err := old.Stat(); err != nil || os.SameFile(was, info) {
		t.Errorf("the old file was written over: %v", err)
	}
	if info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v, want that of the old file", info.Mode())
	}
}

func TestSaveThroughLink(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.html"), filepath.Join(dir, "link.html")
	if err := os.WriteFile(real, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.html", link); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	if err := Save(link, []byte("page")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is no link any more: %v", err)
	}
	if got, _ := os.ReadFile(real); string(got) != "page" {
		t.Errorf("%q is in the file", got)
	}
}

// What cannot be written says why, is found out before, and leaves what is there.
func TestSaveRefuses(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the errors of Windows have other words")
	}
	dir := t.TempDir()
	plain, dangling, closed := filepath.Join(dir, "plain"), filepath.Join(dir, "dangling"), filepath.Join(dir, "closed")
	if err := errors.Join(os.WriteFile(plain, []byte("x"), 0o666), os.Symlink("nowhere", dangling), os.Mkdir(closed, 0o555)); err != nil {
		t.Fatal(err)
	}
	before := strings.Join(names(t, dir), " ")
	rows := []struct {
		file string
		is   error
		says string
		why  string
	}{
		{dir, ErrNoFile, "not a regular file", "a folder"},
		{os.DevNull, ErrNoFile, "not a regular file", "a device is not replaced"},
		{filepath.Join(dir, "none", "r.html"), fs.ErrNotExist, "the directory " + filepath.Join(dir, "none") + " does not exist", "no folder"},
		{filepath.Join(plain, "r.html"), nil, "not a directory", "a file as a folder"},
		{filepath.Join(dir, strings.Repeat("x", 300)), nil, "name too long", "no such name"},
		{dangling, nil, "which does not exist", "a link to nothing"},
	}
	if os.Geteuid() != 0 { // whom no mode stops
		rows = append(rows, struct {
			file string
			is   error
			says string
			why  string
		}{filepath.Join(closed, "r.html"), fs.ErrPermission, "permission denied", "a folder that is closed"})
	}
	for _, row := range rows {
		for name, err := range map[string]error{"Check": Check(row.file), "Save": Save(row.file, []byte("page"))} {
			if err == nil || row.is != nil && !errors.Is(err, row.is) || !strings.Contains(err.Error(), row.says) {
				t.Errorf("%s(%.60q): %v, want %q: %s", name, row.file, err, row.says, row.why)
			} else if strings.Contains(err.Error(), ".weir-") {
				t.Errorf("%s(%.60q): %v names a file that nobody knows", name, row.file, err)
			}
		}
	}
	if after := strings.Join(names(t, dir), " "); after != before {
		t.Errorf("the folder holds %s, before %s", after, before)
	}
}
