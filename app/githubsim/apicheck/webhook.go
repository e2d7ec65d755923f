package apicheck

import (
	"encoding/json"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// HookKey is a webhook's key in the description: pull_request and opened are pull-request-opened.
func HookKey(event, action string) string {
	key := strings.ReplaceAll(event, "_", "-")
	if action != "" {
		key += "-" + strings.ReplaceAll(action, "_", "-")
	}
	return key
}

// Webhook checks a webhook's payload. Events the reduced description does not hold are not judged;
// the result tells whether it was.
func (c *Checker) Webhook(event, action string, body []byte) (judged bool) {
	key := HookKey(event, action)
	schema := c.hooks[key]
	if schema == nil {
		return false
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		c.report("webhook %s: not JSON: %v", key, err)
		return true
	}
	for _, problem := range flatten(schema.VisitJSON(value, openapi3.MultiErrors())) {
		c.judge(key, "webhook", problem)
	}
	return true
}
