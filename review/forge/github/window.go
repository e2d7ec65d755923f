package github

import "time"

// window is what was spent in the last span, oldest first: GitHub counts so. A bucket
// that is refilled would let twice its size through in one span.
type window struct {
	span  time.Duration
	limit int
	spent []spending
	sum   int
}

type spending struct {
	at   time.Time
	cost int
}

// age forgets what is older than the span.
func (w *window) age(now time.Time) {
	n := 0
	for n < len(w.spent) && now.Sub(w.spent[n].at) >= w.span {
		w.sum -= w.spent[n].cost
		n++
	}
	w.spent = w.spent[n:]
}

// wait is how long until a cost fits under a limit, 0 when it does now. A cost of
// several spans is spread over them.
func (w *window) wait(now time.Time, cost, limit int) time.Duration {
	w.age(now)
	spans := (cost - 1) / limit
	cost -= spans * limit
	over := w.sum + cost - limit
	if over <= 0 {
		return time.Duration(spans) * w.span
	}
	for _, s := range w.spent {
		if over -= s.cost; over <= 0 {
			return time.Duration(spans)*w.span + w.span - now.Sub(s.at)
		}
	}
	return time.Duration(spans+1) * w.span // not reached: the sum is that of the spendings
}

func (w *window) add(now time.Time, cost int) {
	w.spent = append(w.spent, spending{now, cost})
	w.sum += cost
}
