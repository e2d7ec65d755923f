package handlers

import "context"

// Intake makes deliveries durable.
type Intake interface {
	// Accept returns after the delivery and its job are committed. fresh is false
	// when a delivery of this GUID was accepted before. An error means that
	// nothing may be assumed, so the sender must be told to try again. The
	// context bounds the wait for an answer; a commit under way is not undone
	// when it ends (case 54).
	Accept(ctx context.Context, d Delivery) (fresh bool, err error)
}

// Delivery is an accepted delivery with the job it wakes.
type Delivery struct {
	Event   Event
	Subject Subject
	// Payload is the raw body. It is valid only until Accept returns.
	Payload []byte
}
