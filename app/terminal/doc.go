// Package terminal runs the gates for somebody at a keyboard: `countersign
// review` for one change before it is pushed, `countersign survey` for a
// repository's history. It puts together where a change is read from (a git range,
// a diff, a pull request), session.Judge, and a Report for people, programs and
// code scanning.
//
// It records and writes nothing, and calls no model yet. It must not know how a
// rule works, nor decide: it shows what the gates said. What a terminal cannot
// know (DESIGN section 13) is listed as open and decides nothing.
package terminal
