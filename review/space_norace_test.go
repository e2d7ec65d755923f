//go:build !race

package review

// spaceStep of 1 visits every point of the space.
const spaceStep = 1

// propertyRounds of a hundred pieces of evidence each.
const propertyRounds = 10
