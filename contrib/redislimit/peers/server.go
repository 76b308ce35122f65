package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A server is a redis-server of this program's own: on a socket in a folder of its
// own, with nothing kept on disk.
type server struct {
	dir, socket string
	cmd         *exec.Cmd
	drained     chan struct{}
}

// startServer starts the redis-server that is in the path, with these variables
// added to its environment, and returns when it says that it is ready.
func startServer(env ...string) (*server, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "weir") // a socket's path has to be short
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, socket: filepath.Join(dir, "s"), drained: make(chan struct{})}
	s.cmd = exec.Command(path, "--port", "0", "--unixsocket", s.socket, "--save", "", "--appendonly", "no", "--dir", dir)
	s.cmd.Env = append(os.Environ(), env...)
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		s.cmd.Stderr = s.cmd.Stdout
		err = s.cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	lines := bufio.NewScanner(out)
	var said []string
	ready := false
	for !ready && lines.Scan() {
		said = append(said, lines.Text())
		ready = strings.Contains(lines.Text(), "now ready to accept connections")
	}
	go func() {
		_, _ = io.Copy(io.Discard, out)
		close(s.drained)
	}()
	if !ready {
		return nil, errors.Join(fmt.Errorf("redis-server did not start: %q", said), s.stop())
	}
	return s, nil
}

// stop ends the process and removes what it left.
func (s *server) stop() error {
	_ = s.cmd.Process.Kill() // or it has ended by itself
	<-s.drained
	_ = s.cmd.Wait() // it was killed: that is no error
	return os.RemoveAll(s.dir)
}

// client returns a client that keeps a connection for each of so many goroutines.
func (s *server) client(goroutines int) *redis.Client {
	return redis.NewClient(&redis.Options{Network: "unix", Addr: s.socket, PoolSize: goroutines, MinIdleConns: goroutines,
		DialTimeout: patience, ReadTimeout: patience, PoolTimeout: patience})
}

// serverVersion is what redis-server says of itself, in short.
func serverVersion() string {
	out, err := exec.Command("redis-server", "--version").Output()
	if err != nil {
		return "no redis-server"
	}
	for field := range strings.FieldsSeq(string(out)) {
		if v, ok := strings.CutPrefix(field, "v="); ok {
			return "redis-server " + v
		}
	}
	return strings.TrimSpace(string(out))
}
