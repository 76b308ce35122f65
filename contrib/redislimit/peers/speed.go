package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A trial is one subject in one case.
type trial struct {
	group   string
	keys    *keyset
	workers int
	mix     mix
	subject subject
	samples []sample
}

// bytesPerKey are those that Redis has more after a subject's keys were made, a
// key.
type bytesPerKey struct {
	lib   string
	bytes float64
}

// A timing is a case of this section.
type timing struct {
	keys, workers int
	mix           mix
}

func (t timing) keysName() string {
	if t.keys == 1 {
		return "hot"
	}
	return strconv.Itoa(t.keys)
}

func (t timing) String() string {
	return fmt.Sprintf("keys=%s case=%s goroutines=%d", t.keysName(), t.mix, t.workers)
}

func timings(cfg config) (all []timing) {
	for _, keys := range []int{1, cfg.keys} {
		for _, m := range []mix{granted, refused, half} {
			for _, workers := range cfg.goroutines {
				all = append(all, timing{keys, workers, m})
			}
		}
	}
	return all
}

// in returns the subjects that are asked for in this case.
func (t timing) in(cfg config) (some []subject) {
	for _, s := range subjects() {
		if slices.Contains(s.mixes, t.mix) && cfg.only.MatchString("speed/"+t.String()+"/"+s.name) {
			some = append(some, s)
		}
	}
	return some
}

// trials are the cases that are asked for, one after another, with their keys made.
func trials(ctx context.Context, c *redis.Client, cfg config) (all []*trial, memory []bytesPerKey, err error) {
	sets := make(map[int]*keyset)
	for _, t := range timings(cfg) {
		for _, s := range t.in(cfg) {
			k := sets[t.keys]
			if k == nil {
				if k, err = newKeyset(c, t.keysName(), t.keys, subjects()); err != nil {
					return nil, nil, err
				}
				sets[t.keys] = k
			}
			all = append(all, &trial{group: t.String(), keys: k, workers: t.workers, mix: t.mix, subject: s})
			if k.filled[s.of] || s.name == ping {
				continue
			}
			before, err := usedMemory(ctx, c)
			if err == nil {
				err = k.fill(ctx, s)
			}
			if err != nil {
				return nil, nil, err
			}
			after, err := usedMemory(ctx, c)
			if err != nil {
				return nil, nil, err
			}
			if t.keys > 1 {
				memory = append(memory, bytesPerKey{s.of, (after - before) / float64(t.keys)})
			}
		}
	}
	return all, memory, nil
}

// info returns the sum of these numbers that Redis tells of itself.
func info(ctx context.Context, c *redis.Client, section string, names ...string) (sum float64, err error) {
	text, err := c.Info(ctx, section).Result()
	if err != nil {
		return 0, err
	}
	found := 0
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if !slices.Contains(names, name) {
			continue
		}
		x, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("INFO %s: %w", section, err)
		}
		sum, found = sum+x, found+1
	}
	if found != len(names) {
		return 0, fmt.Errorf("INFO %s tells %d of %q: %q", section, found, names, text)
	}
	return sum, nil
}

// usedMemory is what Redis has allocated, in bytes.
func usedMemory(ctx context.Context, c *redis.Client) (float64, error) {
	return info(ctx, c, "memory", "used_memory")
}

// serverTime is the CPU time that Redis has used, in seconds.
func serverTime(ctx context.Context, c *redis.Client) (float64, error) {
	return info(ctx, c, "cpu", "used_cpu_user", "used_cpu_sys")
}

// costs runs f and adds to its sample what it took of the processors: that does not
// depend on what else wants them, as the decisions in a second do.
func costs(ctx context.Context, c *redis.Client, f func() (sample, error)) (sample, error) {
	before, err := serverTime(ctx, c)
	if err != nil {
		return sample{}, err
	}
	begin := ownTime()
	s, err := f()
	if err != nil {
		return sample{}, err
	}
	own := ownTime() - begin
	after, err := serverTime(ctx, c)
	s.server, s.client = 1e6*(after-before)/float64(s.decisions), micros(own)/float64(s.decisions)
	return s, err
}

// measure times all trials in turns: in each round all the subjects of a case
// one after another, and first each for a tenth of the time unmeasured.
func measure(ctx context.Context, c *redis.Client, all []*trial, cfg config) error {
	for round := range cfg.runs {
		for i, t := range all {
			if err := ctx.Err(); err != nil {
				return err
			}
			ask, seed := t.keys.askers[t.subject.name], uint64(round*len(all)+i)
			for _, d := range []int{10, 1} {
				s, err := costs(ctx, c, func() (sample, error) {
					return drive(ctx, ask, len(t.keys.keys), t.workers, t.mix, t.subject.floor, cfg.time/time.Duration(d), seed)
				})
				if err != nil {
					return fmt.Errorf("%s: %s: %w", t.group, t.subject.name, err)
				}
				if d == 1 {
					t.samples = append(t.samples, s)
				}
			}
		}
	}
	return nil
}

// median returns the middle one of what is looked at in the samples.
func (t *trial) median(of func(sample) float64) float64 {
	s := t.sorted(of)
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

func (t *trial) sorted(of func(sample) float64) []float64 {
	var all []float64
	for _, s := range t.samples {
		all = append(all, of(s))
	}
	slices.Sort(all)
	return all
}

func perSecond(s sample) float64 { return s.perSecond }

// A verdict is what came of the goal in one case: weir decides at least as often
// as the other.
type verdict struct {
	group, lib  string
	ratio       float64
	least, most float64 // of the rounds
}

func (v verdict) met() bool { return v.ratio >= 1 }

// judgeSpeed compares weir with the other libraries in each case, where each asks
// Redis about every request.
func judgeSpeed(all []*trial) (verdicts []verdict) {
	for _, t := range all {
		if t.subject.name != redisRate && t.subject.name != throttle {
			continue
		}
		i := slices.IndexFunc(all, func(o *trial) bool { return o.group == t.group && o.subject.name == weir })
		if i < 0 {
			continue
		}
		v := verdict{group: t.group, lib: t.subject.name, ratio: all[i].median(perSecond) / t.median(perSecond)}
		var ratios []float64
		for n, s := range t.samples {
			ratios = append(ratios, all[i].samples[n].perSecond/s.perSecond)
		}
		v.least, v.most = slices.Min(ratios), slices.Max(ratios)
		verdicts = append(verdicts, v)
	}
	return verdicts
}
