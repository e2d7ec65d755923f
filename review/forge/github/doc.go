// Package github is the GitHub adapter of the forge port: one HTTP transport
// with one call policy for everything that speaks to GitHub, and on top of it
// the reads and writes of forge.Client.
//
// A request passes, from the outside in:
//
//	authenticate   installation token, renewed early; a 401 drops it once
//	revalidate     If-None-Match for the few answers that are asked again
//	obeyLimits     primary and secondary rate limits, remembered per installation
//	retry          5xx, resets and timeouts, only where repeating is harmless
//	pace           content-creating calls a minute, per installation
//	exchange       one attempt: counted, with a deadline and a bounded body
//
// Whatever fails leaves as a *forge.Error that says what was tried. Answers are
// checked before they are believed: a missing or malformed essential field is
// forge.KindMalformed, never a zero value that could pass for "none".
//
// The package knows nothing of gates, policy or the meaning of a check. It never
// logs or returns a token, a key or source text.
package github
