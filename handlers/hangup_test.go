package handlers

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
)

// The sender hangs up after ten seconds, or at once: what it delivered is kept all the
// same, since GitHub will not send it again by itself.
func TestCase054_SenderThatHangsUp(t *testing.T) {
	intake := &recorder{}
	ctx, hangUp := context.WithCancel(t.Context())
	hangUp()
	w := httptest.NewRecorder()
	newHook(t, intake).ServeHTTP(w, request(golden(t)).WithContext(ctx))
	if w.Code != http.StatusAccepted || len(intake.deliveries) != 1 {
		t.Errorf("answered %d, %d deliveries are kept", w.Code, len(intake.deliveries))
	}
}
