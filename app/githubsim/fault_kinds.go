package githubsim

import (
	"net/http"
	"strconv"
	"time"
)

// The usual faults hit every request; On, At, Once and For narrow them:
//
//	sim.Fail(githubsim.SecondaryLimit(30 * time.Second).On("POST /graphql").Once())

// SecondaryLimit is a 403 of the secondary limit. A wait of 0 sends no Retry-After, which GitHub does too.
func SecondaryLimit(wait time.Duration) Fault {
	return limited(http.StatusForbidden, wait)
}

// TooManyRequests is the same refusal as a 429.
func TooManyRequests(wait time.Duration) Fault {
	return limited(http.StatusTooManyRequests, wait)
}

// secondaryText and secondaryURL are how GitHub refuses by its secondary limit; clients tell it by them.
const (
	secondaryText = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
	secondaryURL  = "https://docs.github.com/free-pro-team@latest/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"
)

func limited(status int, wait time.Duration) Fault {
	f := Fault{Route: "*", Status: status, Body: `{"message":"` + secondaryText + `","documentation_url":"` + secondaryURL + `"}`}
	if wait > 0 {
		f.Header = map[string]string{"Retry-After": strconv.Itoa(int((wait + time.Second - 1) / time.Second))}
	}
	return f
}

// PrimaryLimit is a 403 of the hourly limit, which is whole again at a time.
func PrimaryLimit(reset time.Time) Fault {
	return Fault{Route: "*", Status: http.StatusForbidden, Body: `{"message":"API rate limit exceeded for installation."}`, Header: map[string]string{
		"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": strconv.FormatInt(reset.Unix(), 10),
	}}
}

// ServerError is an answer of a broken GitHub: 500, 502, 503 or 504.
func ServerError(status int) Fault { return Fault{Route: "*", Status: status} }

// Reset resets the connection instead of answering.
func Reset() Fault { return Fault{Route: "*", Reset: true} }

// Hang lets the caller wait until it gives up.
func Hang() Fault { return Fault{Route: "*", Hang: true} }

// Stale lets lists lack what was written last.
func Stale() Fault { return Fault{Route: "*", Stale: true} }

// TokenExpired ends the caller's token just before the request, which is then answered 401.
func TokenExpired() Fault { return Fault{Route: "*", ExpireToken: true} }

// On limits a fault to a route, as Fault.Route names them.
func (f Fault) On(route string) Fault {
	f.Route = route
	return f
}

// In limits a fault to GraphQL requests whose operation has this name.
func (f Fault) In(operation string) Fault {
	f.Route, f.Operation = "POST /graphql", operation
	return f
}

// For limits a fault to what an installation asks.
func (f Fault) For(i *Installation) Fault {
	f.Installation = i.id
	return f
}

// At lets a fault hit the nth request alone, counted from 1.
func (f Fault) At(nth int) Fault {
	f.Nth, f.Times = nth, 1
	return f
}

// Once lets a fault hit one request.
func (f Fault) Once() Fault {
	f.Times = 1
	return f
}

// AfterTheWork lets a fault spoil the answer of a request whose work is done.
func (f Fault) AfterTheWork() Fault {
	f.After = true
	return f
}
