package histories_test

// steps returns what the checker sees of an operation. One that takes several
// steps, between which others can come, is told apart by its readings of the
// two limiters' clocks: each step begins with one.
func (o *op) steps() []*op {
	switch o.kind {
	case advance:
		return nil
	case move:
		return o.cut([]kind{moveRead, moveRaise}, o.segments())
	case jointTake, jointPeek:
		return o.joint()
	}
	return []*op{o}
}

// segments returns where readings of the other limiter begin.
func (o *op) segments() (begin []int) {
	for i := range o.reads {
		if i == 0 || o.reads[i].lim != o.reads[i-1].lim {
			begin = append(begin, i)
		}
	}
	return begin
}

// cut makes a step of each segment; one that has none made no reading, and may
// have been at any time since the last one that is known to have begun.
func (o *op) cut(kinds []kind, begin []int) (steps []*op) {
	for i, k := range kinds {
		step := *o
		step.kind, step.whole, step.reads = k, o, nil
		if i < len(begin) {
			end := len(o.reads)
			if i+1 < len(begin) {
				end = begin[i+1]
				step.ret = o.reads[end].stamp - 1 // no event has that number
			}
			step.reads = o.reads[begin[i]:end]
			step.lim = step.reads[0].lim
		}
		if i > 0 {
			step.call = o.reads[begin[min(i, len(begin)-1)]].stamp
		}
		steps = append(steps, &step)
	}
	return steps
}

// joint cuts a joint decision. Both members are asked, the second of them with
// a single reading; if both grant, they are charged; and if the second charge is
// refused, the first is rolled back, without a reading if nothing can come back.
func (o *op) joint() []*op {
	begin := o.segments()
	if len(begin) < 2 {
		return []*op{{kind: jointBack, client: o.client, call: o.call, ret: o.ret}} // which nothing explains
	}
	kinds := []kind{jointAsk, jointAsk}
	if second := begin[1] + 1; second < len(o.reads) && o.reads[second].lim == o.reads[begin[1]].lim {
		begin = append(begin[:2:2], append([]int{second}, begin[2:]...)...)
	}
	last := len(begin) - 1
	if charges := len(begin) - 2; charges > 0 {
		kinds = append(kinds, jointBook)
		if charges > 1 {
			kinds = append(kinds, jointBook)
			if !o.verdict.ok {
				kinds = append(kinds, jointBack)
				last = len(kinds) - 1
			}
		}
	}
	steps := o.cut(kinds, begin)
	for i, step := range steps {
		step.last = i == last
		step.first = steps[min(2, len(steps)-1)].lim
	}
	return steps
}
