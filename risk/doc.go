// Package risk decides how risky a change is from what it touches: which kinds
// of files, which modes, how much, and what scanners and the policy say about
// it. Assess is the whole of it; the rules are a table in rules.go.
//
// The package is pure: no I/O, no clock, no model. It must not know where a
// patch or a fact comes from, what follows from a tier (the gate decides that),
// or how a policy is written. It imports package diff and nothing else of ours.
//
// Two principles decide every doubtful case. What raises risk matches
// generously: both paths of a rename, without regard to case or look-alike
// letters. What lowers attention (docs, tests, generated and vendored files)
// matches exactly. And a fact that nobody could establish is unknown, which is
// listed, and never the same as "no".
package risk
