// Package scan finds dangers in a patch without a model: characters that do not
// show or that change the reading direction, text that is hidden from people and
// speaks to a reviewer, conflict markers, paths that read as others, credentials,
// faults of workflows and composite actions, dependencies that are new or come from
// elsewhere, and tests that are removed or skipped. Patch is the whole of it.
//
// A manifest or a lock file is read twice, before and after the change, as far as
// the hunks or the whole file show it; what was there is known by its name. With
// the whole file another version of a known package is a bump; without it, a
// package that the hunk does not show before is taken for new.
//
// Every finding names a rule, a path, a side and an exact line. The answers to
// risk's content rules come with them: Yes where something was found, No where
// everything was looked at and nothing was found, Unknown where a part was not
// looked at. What was not looked at is named.
//
// The package is pure: no I/O, no clock, no process, no network, and it logs
// nothing. Its inputs are a patch and, where the caller has them, whole files at
// the head; it is bounded by Limits and by its context. It must not know where
// these come from, what follows from a finding (the gate decides that), or how a
// person sees it.
//
// No secret leaves it: what a credential rule matched is masked before a Finding
// exists, in every field of every finding.
package scan
