// Package handlers turns a GitHub delivery into a durable job, or refuses it.
//
// It checks that a delivery is authentic, reduces it to an Event, names the
// Subject whose job it wakes, and answers only when an Intake has committed
// both. It holds the grammar of routing.
//
// It must not know SQL, the job queue or GitHub's API, must make no call to
// anything outside, and must never act on what a delivery says: an event only
// says where to look.
package handlers
