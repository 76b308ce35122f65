package main

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

func (l limit) xtime() *rate.Limiter {
	return rate.NewLimiter(rate.Limit(float64(l.n)/l.per.Seconds()), l.burst)
}

func openXtime(l limit) func() bool { return l.xtime().Allow }

// drainXtime leaves the fraction of a token.
func drainXtime(limiter *rate.Limiter) {
	now := time.Now()
	limiter.AllowN(now, int(limiter.TokensAt(now)))
}

// openSyncMap is what the documentation of x/time leaves to its user.
func openSyncMap[K comparable](l limit, _ int) instance[K] {
	var limiters sync.Map
	of := func(key K) *rate.Limiter {
		v, ok := limiters.Load(key)
		if !ok {
			v, _ = limiters.LoadOrStore(key, l.xtime())
		}
		return v.(*rate.Limiter)
	}
	return instance[K]{
		allow: func(key K) bool { return of(key).Allow() },
		len: func() (n int) {
			limiters.Range(func(any, any) bool { n++; return true })
			return n
		},
		drain: func(key K) { drainXtime(of(key)) },
	}
}

// openMutexMap is the other thing that its users write.
func openMutexMap[K comparable](l limit, _ int) instance[K] {
	var (
		mu       sync.Mutex
		limiters = make(map[K]*rate.Limiter)
	)
	of := func(key K) *rate.Limiter {
		mu.Lock()
		defer mu.Unlock()
		limiter, ok := limiters[key]
		if !ok {
			limiter = l.xtime()
			limiters[key] = limiter
		}
		return limiter
	}
	return instance[K]{
		allow: func(key K) bool { return of(key).Allow() },
		len:   func() int { return len(limiters) },
		drain: func(key K) { drainXtime(of(key)) },
	}
}
