// Package diff holds what a pull request changes: the files between merge base
// and head with both paths, both modes, both blobs and the hunks, the identity
// of that change, and the places in it that GitHub accepts for a comment.
//
// It is values and pure functions. It must not know where a patch comes from
// (GitHub, a local clone, a test), what a change means (package risk judges
// that), or the time. It reads what it is handed and imports nothing of ours.
//
// A line ends at "\n" and nowhere else. U+2028, NEL, form feed and a bare
// carriage return are characters inside a line: whoever splits at them can be
// made to see hunk headers that git never wrote.
package diff
