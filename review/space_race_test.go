//go:build race

package review

// spaceStep: the race detector makes each point some twenty times dearer, so a
// sample is visited. The step is prime and divides none of the dimensions, so
// every value of every fact and all their pairs occur.
const spaceStep = 211

// propertyRounds of a hundred pieces of evidence each.
const propertyRounds = 2
