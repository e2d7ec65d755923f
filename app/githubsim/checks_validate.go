package githubsim

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"unicode/utf8"
)

// GitHub's limits on one check run request.
const (
	maxAnnotations       = 50
	maxActions           = 3
	maxActionLabel       = 20
	maxActionDescription = 40
	maxActionIdentifier  = 20
	maxOutputBytes       = 65_535 // summary and text, each; bytes, though the message says characters
	maxOutputTitle       = 255
	maxAnnotationBytes   = 64 << 10 // message and raw_details
)

func badRequest(format string, args ...any) *apiError {
	return refuse(http.StatusUnprocessableEntity, "Invalid request.\n\n"+fmt.Sprintf(format, args...))
}

func tooMany(limit, got int) *apiError {
	return badRequest("No more than %d items are allowed; %d were supplied.", limit, got)
}

func tooLong(limit, got int) *apiError {
	return badRequest("Only %d characters are allowed; %d were supplied.", limit, got)
}

// check refuses what GitHub refuses.
func (in runInput) check(creating bool) error {
	if creating {
		if in.Name == nil || *in.Name == "" {
			return badRequest("%q wasn't supplied.", "name")
		}
		if in.HeadSHA == nil || *in.HeadSHA == "" {
			return badRequest("%q wasn't supplied.", "head_sha")
		}
	}
	statuses := []string{"queued", "in_progress", "completed", "waiting", "requested", "pending"}
	if in.Status != nil && !slices.Contains(statuses, *in.Status) {
		return badRequest("%s is not a member of %q.", *in.Status, statuses)
	}
	conclusions := []string{"action_required", "cancelled", "failure", "neutral", "success", "skipped", "timed_out"}
	if in.Conclusion != nil && !slices.Contains(conclusions, *in.Conclusion) {
		return badRequest("%s is not a member of %q.", *in.Conclusion, conclusions)
	}
	done := in.Status != nil && *in.Status == "completed" || in.CompletedAt != nil
	if done && in.Conclusion == nil {
		return invalid("CheckRun", "conclusion", "missing_field", "")
	}
	if in.Status != nil && *in.Status != "completed" && in.Conclusion != nil {
		return invalid("CheckRun", "conclusion", "invalid", "A conclusion needs the status completed")
	}
	if in.DetailsURL != nil {
		if u, err := url.Parse(*in.DetailsURL); err != nil || u.Scheme != "http" && u.Scheme != "https" {
			return invalid("CheckRun", "details_url", "invalid", "details_url must use http or https")
		}
	}
	if err := checkActions(in.Actions); err != nil {
		return err
	}
	if in.Output == nil {
		return nil
	}
	return in.Output.check(creating)
}

func checkActions(actions []CheckAction) error {
	if len(actions) > maxActions {
		return tooMany(maxActions, len(actions))
	}
	for _, a := range actions {
		for _, f := range []struct {
			name, value string
			limit       int
		}{
			{"label", a.Label, maxActionLabel}, {"description", a.Description, maxActionDescription}, {"identifier", a.Identifier, maxActionIdentifier},
		} {
			if f.value == "" {
				return badRequest("%q wasn't supplied.", f.name)
			}
			if n := utf8.RuneCountInString(f.value); n > f.limit {
				return tooLong(f.limit, n)
			}
		}
	}
	return nil
}

func (o *outputInput) check(creating bool) error {
	if o.Summary == nil {
		return badRequest("%q wasn't supplied.", "summary")
	}
	if o.Title == nil && creating {
		return badRequest("%q wasn't supplied.", "title")
	}
	if o.Title != nil {
		if n := utf8.RuneCountInString(*o.Title); n > maxOutputTitle {
			return tooLong(maxOutputTitle, n)
		}
	}
	for _, s := range []*string{o.Summary, o.Text} {
		if s != nil && len(*s) > maxOutputBytes {
			return tooLong(maxOutputBytes, len(*s))
		}
	}
	if len(o.Annotations) > maxAnnotations {
		return tooMany(maxAnnotations, len(o.Annotations))
	}
	for _, a := range o.Annotations {
		if err := a.check(); err != nil {
			return err
		}
	}
	return nil
}

func (a annotationInput) check() error {
	switch {
	case a.Path == nil || *a.Path == "":
		return badRequest("%q wasn't supplied.", "path")
	case a.StartLine == nil || *a.StartLine < 1:
		return badRequest("%q wasn't supplied.", "start_line")
	case a.EndLine == nil || *a.EndLine < *a.StartLine:
		return badRequest("%q must not be before start_line.", "end_line")
	case a.Level == nil || !slices.Contains([]string{"notice", "warning", "failure"}, *a.Level):
		return badRequest("%q must be notice, warning or failure.", "annotation_level")
	case a.Message == nil || *a.Message == "":
		return badRequest("%q wasn't supplied.", "message")
	case len(*a.Message) > maxAnnotationBytes:
		return tooLong(maxAnnotationBytes, len(*a.Message))
	case len(a.Raw) > maxAnnotationBytes:
		return tooLong(maxAnnotationBytes, len(a.Raw))
	case utf8.RuneCountInString(a.Title) > maxOutputTitle:
		return tooLong(maxOutputTitle, utf8.RuneCountInString(a.Title))
	case *a.StartLine != *a.EndLine && (a.StartColumn != 0 || a.EndColumn != 0):
		return badRequest("columns are allowed on one line only.")
	}
	return nil
}
