// Package collect reads the evidence about one pull request through the forge
// port and lays it out for judgment: the patch with modes and blobs, the head's
// checks with their identities, the author's standing, the stated intent.
//
// It states facts and says what it could not establish; nothing is silently
// dropped, and what is missing is never taken for nothing. It must not know
// what a tier or a decision is, write to the forge, or read anything that is
// not about this head.
//
// The usual order, seven calls with a cold token:
//
//	patch, gaps, err := collect.Patch(ctx, client, pull)         // compare; list-files above 300
//	snap, err := client.Snapshot(ctx, …collect.Dirs(patch)…)     // checks, and both sides' modes
//	gaps = append(gaps, collect.Modes(&patch, snap)...)          // pure
//	more, err := collect.Fill(ctx, client, repo, &patch, collect.Budget{}) // blobs, within bounds
//	checks := collect.Checks(collect.ChecksInput{…})             // pure
package collect
