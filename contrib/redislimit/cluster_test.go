package redislimit_test

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/contrib/redislimit"
	"github.com/weir-go/weir/gcra"
)

// A node is a server of a cluster.
type node struct {
	*server
	port string
	id   string
	*redis.Client
}

// freePorts asks the kernel for ports, all at once so that they differ.
func freePorts(t *testing.T, n int) (ports []string) {
	t.Helper()
	for range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		_, port, _ := net.SplitHostPort(ln.Addr().String())
		ports = append(ports, port)
	}
	return ports
}

// newCluster starts three nodes, which have a third of the slots each.
func newCluster(t *testing.T) []node {
	t.Helper()
	redisServer(t)
	ports := freePorts(t, 6)
	nodes := make([]node, 3)
	for i := range nodes {
		port := ports[i]
		s := newServer(t, "--port", port, "--bind", "127.0.0.1", "--cluster-enabled", "yes", "--cluster-port", ports[3+i], "--cluster-node-timeout", "60000", "--cluster-require-full-coverage", "no")
		nodes[i] = node{s, port, "", clientOf(t, "unix", s.socket)}
		nodes[i].id = must(t, nodes[i].ClusterMyID(ctx))
		must(t, nodes[i].ClusterAddSlotsRange(ctx, i*16384/3, (i+1)*16384/3-1))
		must(t, nodes[i].Do(ctx, "cluster", "set-config-epoch", i+1))
	}
	for i := range nodes[1:] {
		must(t, nodes[0].Do(ctx, "cluster", "meet", "127.0.0.1", nodes[1+i].port, ports[4+i]))
	}
	for _, n := range nodes {
		eventually(t, func() bool {
			info := must(t, n.ClusterInfo(ctx))
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3") && strings.Contains(info, "cluster_slots_ok:16384")
		})
	}
	return nodes
}

func must[T any](t *testing.T, cmd interface{ Result() (T, error) }) T {
	t.Helper()
	v, err := cmd.Result()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func clusterClient(t *testing.T, nodes []node) *redis.ClusterClient {
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:" + nodes[0].port}, ContextTimeoutEnabled: true, DialTimeout: patient, ReadTimeout: patient, PoolTimeout: patient, DialerRetries: 1})
	t.Cleanup(func() { c.Close() })
	return c
}

func TestCluster(t *testing.T) {
	nodes := newCluster(t)
	client := clusterClient(t, nodes)
	l := newLimiter(t, client, "1/h burst 10", redislimit.Closed())

	t.Run("keys", func(t *testing.T) {
		used := map[int]int{}
		for i := range 60 {
			key := strconv.Itoa(i)
			slot := must(t, nodes[0].ClusterKeySlot(ctx, "weir:"+key))
			if got := redislimit.SlotOf("weir:" + key); int64(got) != slot {
				t.Fatalf("the slot of %q is %d, not %d", key, slot, got)
			}
			used[int(slot)*3/16384]++
			for range 3 {
				if d, err := l.Take(ctx, key, 1+i%3); err != nil || !d.OK() {
					t.Fatalf("key %s: err %v, error %v", key, d.Err(), err)
				}
			}
			if got := left(t, l, key); got != 10-3*(1+i%3) {
				t.Errorf("key %s has %d left", key, got)
			}
		}
		if len(used) != 3 {
			t.Errorf("keys of %d nodes only", len(used))
		}
		for _, key := range []string{"{a}", "{a", "a}", "{}a", "{a}{b}", "{{a}}", "x{a}y", "}{a}", "{\x00}"} {
			if got, want := redislimit.SlotOf(key), must(t, nodes[0].ClusterKeySlot(ctx, key)); int64(got) != want {
				t.Errorf("the slot of %q is %d, not %d", key, want, got)
			}
		}
	})

	t.Run("joint", func(t *testing.T) {
		j, err := redislimit.Join(l.For("{u}1"), l.For("{u}2"))
		if err != nil {
			t.Fatal(err)
		}
		if d, err := j.Take(ctx, 4); err != nil || d.Remaining() != 6 {
			t.Errorf("%d left, error %v", d.Remaining(), err)
		}
		if _, err := l.Take(ctx, "{u}2", 5); err != nil {
			t.Fatal(err)
		}
		if d, err := j.Take(ctx, 2); err != nil || d.OK() || left(t, l, "{u}1") != 6 {
			t.Errorf("a refusal: ok %v, error %v, %d left of the other", d.OK(), err, left(t, l, "{u}1"))
		}
	})

	t.Run("change of limit", func(t *testing.T) {
		l := newLimiter(t, client, "1/h burst 10", redislimit.Closed())
		if _, err := l.Take(ctx, "changed", 4); err != nil {
			t.Fatal(err)
		}
		if err := l.SetLimit(ctx, gcra.PerHour(1).Burst(100)); err != nil {
			t.Fatal(err)
		}
		if got := left(t, l, "changed"); got != 6 {
			t.Errorf("%d left, want 6", got)
		}
	})

	t.Run("slot on the move", func(t *testing.T) {
		const burst, key = 1_000_000, "moved"
		l := newLimiter(t, client, "0/s burst 1000000", redislimit.Closed())
		slot := int(redislimit.SlotOf("weir:" + key))
		from, to := nodes[slot*3/16384], nodes[(slot*3/16384+1)%3]
		if d, err := l.Take(ctx, key, 1); err != nil || !d.OK() {
			t.Fatal(err)
		}
		// They take while the slot and its key go over, and for a while after.
		var wg sync.WaitGroup
		var granted atomic.Int64
		granted.Add(1)
		moved := make(chan struct{})
		for range 4 {
			wg.Go(func() {
				for more := 100; more > 0; {
					d, err := l.Take(ctx, key, 1)
					if err != nil || !d.OK() {
						t.Errorf("while the slot moved: ok %v, error %v", d.OK(), err)
						return
					}
					granted.Add(1)
					select {
					case <-moved:
						more--
					default:
					}
				}
			})
		}
		eventually(t, func() bool { return granted.Load() > 500 })
		must(t, to.Do(ctx, "cluster", "setslot", slot, "importing", from.id))
		must(t, from.Do(ctx, "cluster", "setslot", slot, "migrating", to.id))
		must(t, from.Do(ctx, "migrate", "127.0.0.1", to.port, "weir:"+key, 0, patient.Milliseconds()))
		must(t, to.Do(ctx, "cluster", "setslot", slot, "node", to.id))
		must(t, from.Do(ctx, "cluster", "setslot", slot, "node", to.id))
		close(moved)
		wg.Wait()
		if n := left(t, l, key); granted.Load()+int64(n) != burst {
			t.Errorf("%d of %d tokens granted, and %d are left", granted.Load(), burst, n)
		}
		if n := must(t, to.DBSize(ctx)); n == 0 {
			t.Error("nothing is where the slot went")
		}
		// A client that does not know yet is redirected once it asks.
		if d, err := newLimiter(t, clusterClient(t, nodes), "0/s burst 1000000", redislimit.Closed()).Take(ctx, key, burst); err != nil || d.OK() {
			t.Errorf("ok %v, error %v", d.OK(), err)
		}
	})

	t.Run("one node fails", func(t *testing.T) {
		var heard states
		l := newLimiter(t, client, "1/m burst 1000000", redislimit.Closed(), redislimit.WithNotify(heard.note))
		nodes[2].kill()
		works, fails := 0, 0
		for i := range 300 {
			key := fmt.Sprint("after", i)
			d, err := l.Take(ctx, key, 1)
			if gone := int(redislimit.SlotOf("weir:"+key)) >= 2*16384/3; err == nil && d.OK() {
				works++
			} else if fails++; !gone {
				t.Errorf("a key of a node that is there: %v", err)
			}
		}
		if works < 150 || fails < 50 || len(heard.told()) != 1 {
			t.Errorf("%d keys work and %d fail, told %v", works, fails, heard.told())
		}
	})
}

// TestRing: a Ring spreads keys over servers by itself.
func TestRing(t *testing.T) {
	one, two := newServer(t), newServer(t)
	p, q := newProxy(t, "unix", one.socket), newProxy(t, "unix", two.socket)
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"one": p.addr, "two": q.addr}, ContextTimeoutEnabled: true, HeartbeatFrequency: time.Hour, DialTimeout: patient, ReadTimeout: patient})
	t.Cleanup(func() { ring.Close() })
	l := newLimiter(t, ring, "1/h burst 10", redislimit.Closed())
	for i := range 40 {
		for k := range 3 {
			if d, err := l.Take(ctx, strconv.Itoa(i), 2); err != nil || d.Remaining() != 8-2*k {
				t.Fatalf("%d left, error %v", d.Remaining(), err)
			}
		}
	}
	a, b := must(t, one.client().DBSize(ctx)), must(t, two.client().DBSize(ctx))
	if a+b != 40 || a == 0 || b == 0 {
		t.Errorf("%d keys and %d, want 40 on both", a, b)
	}
	p.swallow.Store(1)
	q.swallow.Store(1)
	if _, err := l.Take(ctx, "0", 2); err == nil {
		t.Error("an answer was lost and nobody said so")
	}
	p.swallow.Store(0)
	q.swallow.Store(0)
	direct := newLimiter(t, ring, "1/h burst 10", redislimit.Closed())
	if got := left(t, direct, "0"); got != 2 {
		t.Errorf("%d left, want 2: charged once", got)
	}
}

// TestRingJoin: two keys of one slot are on two servers of a Ring, unless they have one
// tag.
func TestRingJoin(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{ContextTimeoutEnabled: true})
	client := clientOf(t, "tcp", "127.0.0.1:1") // never asked
	t.Cleanup(func() { ring.Close() })
	other := 1
	for redislimit.SlotOf(fmt.Sprint("weir:", other)) != redislimit.SlotOf("weir:0") {
		other++
	}
	for _, row := range []struct {
		client   redis.Scripter
		one, two string
		joins    bool
	}{
		{client, "0", strconv.Itoa(other), true},
		{ring, "0", strconv.Itoa(other), false},
		{ring, "{0}a", "{0}b", true},
	} {
		l := newLimiter(t, row.client, "1/h burst 10", redislimit.Closed())
		if _, err := redislimit.Join(l.For(row.one), l.For(row.two)); (err == nil) != row.joins {
			t.Errorf("%T, %q and %q: %v", row.client, row.one, row.two, err)
		}
	}
}
