package redislimit_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
)

// A server is a redis-server of the test's own, on a socket in its folder.
type server struct {
	t      *testing.T
	socket string
	dir    string
	args   []string
	cmd    *exec.Cmd
}

// redisServer returns the program. Where there is none the test is skipped, unless
// WEIR_REDIS=required.
func redisServer(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("WEIR_REDIS") == "required" {
			t.Fatalf("WEIR_REDIS=required, but: %v", err)
		}
		t.Skipf("no redis-server here: %v", err)
	}
	return path
}

// newServer starts a server that keeps nothing on disk and ends with the test.
func newServer(t *testing.T, args ...string) *server {
	t.Helper()
	redisServer(t)
	dir, err := os.MkdirTemp("", "weir") // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, dir: dir, socket: filepath.Join(dir, "s"), args: args}
	t.Cleanup(func() {
		s.kill()
		os.RemoveAll(dir)
	})
	s.start()
	return s
}

// start starts the process and waits until it says that it is ready.
func (s *server) start() {
	s.t.Helper()
	args := append([]string{"--port", "0", "--unixsocket", s.socket, "--save", "", "--appendonly", "no", "--dir", s.dir}, s.args...)
	s.cmd = exec.Command(redisServer(s.t), args...)
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		if strings.Contains(lines.Text(), "The server is now ready") {
			return // it writes little more than fits into the pipe
		}
	}
	s.t.Fatalf("redis-server did not start:\n%s", strings.Join(said, "\n"))
}

func (s *server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// kill ends the process as kill -9 does.
func (s *server) kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// client returns a client of the server.
func (s *server) client() *redis.Client { return clientOf(s.t, "unix", s.socket) }

func clientOf(t *testing.T, network, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Network: network, Addr: addr, DialTimeout: patient, ReadTimeout: patient, PoolTimeout: patient})
	t.Cleanup(func() { c.Close() })
	return c
}
