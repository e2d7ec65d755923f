package publish

import "time"

// GitHub's limits. Each names the refusal that it avoids; all but the last two
// are answered with 422 for the whole call.
const (
	// MaxOutputBytes bounds summary and text each: "only 65535 characters are
	// allowed", counted in bytes of UTF-8 (case 30).
	MaxOutputBytes = 65_535
	// MaxBodyBytes bounds the body of a comment or review: 65,536 characters; in
	// bytes that is never more (case 34).
	MaxBodyBytes = 65_535
	// MaxTitleBytes bounds output.title, which is a 255-character column.
	MaxTitleBytes = 255
	// MaxAnnotations bounds the annotations of one call (case 32).
	MaxAnnotations = 50
	// MaxAnnotationBytes bounds an annotation's message; its title is bounded as the
	// run's is.
	MaxAnnotationBytes = 64 << 10
	// MaxActions bounds the buttons of a check run.
	MaxActions = 3
	// MaxActionLabel, MaxActionDescription and MaxActionIdentifier bound a button's
	// texts, in characters.
	MaxActionLabel       = 20
	MaxActionDescription = 40
	MaxActionIdentifier  = 20
)

// Our own limits.
const (
	// TitleWidth is how many characters of a title GitHub shows in the list of
	// checks before it cuts (VOICE: under 80).
	TitleWidth = 79
	// MaxList is how many entries of a list are shown; the rest is counted.
	MaxList = 20
	// maxNameBytes and maxTextBytes bound one text from outside: a name, and a
	// sentence.
	maxNameBytes = 240
	maxTextBytes = 600
	// maxNameMarkup and maxTextMarkup bound what escaping makes of them: up to eight
	// times as much.
	maxNameMarkup = 600
	maxTextMarkup = 1_500
	// maxMessageBytes and maxAnnotationPath bound an annotation: why and what to do
	// take a few sentences, and GitHub names no bound for a path.
	maxMessageBytes   = 2_000
	maxAnnotationPath = 1_000
)

// The times of a claim.
const (
	// leaseFor is how long a claim lasts: two calls of 30 s at worst, the
	// transport's own deadline. A third one follows two refusals, which come at once,
	// and has what is left.
	leaseFor = 90 * time.Second
	// leaseMargin is left of the claim when a write's time ends, so that no write
	// is under way when somebody else may begin.
	leaseMargin = 5 * time.Second
	// claimWait is how long a publication waits for the key by default.
	claimWait = 20 * time.Second
	// claimPoll is how often it asks again.
	claimPoll = 200 * time.Millisecond
)
