package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// A setClock is a Redis whose clock stands where it was set: to all that it does,
// expiry too. Set moves it ahead.
type setClock struct {
	about  string
	client *redis.Client
	move   func(us int64) error // µs since 1970
	end    func() error
}

// The kinds of them: redis-server below libfaketime, miniredis, or the first that
// is there.
const (
	clockAuto  = "auto"
	clockFaked = "faketime"
	clockMini  = "miniredis"
)

func openClock(kind string, us int64) (*setClock, error) {
	switch kind {
	case clockFaked:
		return openFaked(us)
	case clockMini:
		return openMini(us)
	case clockAuto:
		c, err := openFaked(us)
		if err == nil {
			return c, nil
		}
		c, other := openMini(us)
		if other != nil {
			return nil, errors.Join(err, other)
		}
		c.about += fmt.Sprintf(", as there is no redis-server whose clock can be set (%v)", err)
		return c, nil
	}
	return nil, fmt.Errorf("clock %q: want %s, %s or %s", kind, clockAuto, clockFaked, clockMini)
}

// openFaked starts redis-server with libfaketime before the C library. That library
// comes before jemalloc too: which asks for the time before anybody can tell it.
func openFaked(us int64) (*setClock, error) {
	found, err := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if err != nil || len(found) == 0 {
		return nil, errors.Join(errors.New("there is no libfaketime"), err)
	}
	libc := filepath.Join(filepath.Dir(filepath.Dir(found[0])), "libc.so.6")
	file, err := os.CreateTemp("", "weirclock")
	if err != nil {
		return nil, err
	}
	forget := func() error { return errors.Join(file.Close(), os.Remove(file.Name())) }
	move := func(us int64) error {
		// Half a microsecond more: libfaketime reads the fraction as a float,
		// and cuts it off.
		_, err := file.WriteAt([]byte(time.UnixMicro(us).UTC().Format("2006-01-02 15:04:05.000000")+"5\n"), 0)
		return err
	}
	if err := move(us); err != nil {
		return nil, errors.Join(err, forget())
	}
	s, err := startServer("TZ=UTC", "LD_PRELOAD="+found[0]+":"+libc, "FAKETIME_TIMESTAMP_FILE="+file.Name(),
		"FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1")
	if err != nil {
		return nil, errors.Join(err, forget())
	}
	c := &setClock{about: serverVersion() + " with its clock set by libfaketime", client: s.client(1), move: move}
	c.end = func() error { return errors.Join(c.client.Close(), s.stop(), forget()) }
	return c.checked(us)
}

func openMini(us int64) (*setClock, error) {
	mini := miniredis.NewMiniRedis()
	mini.SetTime(time.UnixMicro(us))
	if err := mini.Start(); err != nil {
		return nil, err
	}
	at := us
	c := &setClock{about: "miniredis", client: redis.NewClient(&redis.Options{Addr: mini.Addr(), DialTimeout: patience, ReadTimeout: patience})}
	c.move = func(us int64) error {
		mini.SetTime(time.UnixMicro(us))
		mini.FastForward(time.Duration(us-at) * time.Microsecond) // what expires
		at = us
		return nil
	}
	c.end = func() error {
		err := c.client.Close()
		mini.Close()
		return err
	}
	return c.checked(us)
}

func (c *setClock) checked(us int64) (*setClock, error) {
	if err := c.set(context.Background(), us); err != nil {
		return nil, errors.Join(err, c.end())
	}
	return c, nil
}

// set moves the clock to that instant, and asks whether it stands there.
func (c *setClock) set(ctx context.Context, us int64) error {
	if err := c.move(us); err != nil {
		return err
	}
	got, err := c.client.Time(ctx).Result()
	if err == nil && got.UnixMicro() != us {
		err = fmt.Errorf("the clock was set to %d µs, and shows %d", us, got.UnixMicro())
	}
	return err
}
