package terminal

import _ "embed"

//go:generate go run ./schemagen -out review.schema.json

//go:embed review.schema.json
var reviewSchema string

// Schema is the JSON Schema of a Report, generated from its Go types and their
// comments.
func Schema() []byte { return []byte(reviewSchema) }
