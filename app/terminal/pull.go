package terminal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/forge/github"
	"github.com/countersign/countersign/review/session"
)

// PullOptions say how a pull request is read.
type PullOptions struct {
	// Token is a person's own; it is sent to the API's host and nowhere else.
	Token string
	// APIURL is GitHub's REST API; empty means that of the address's host.
	APIURL string
	// Version is ours, for the user agent.
	Version string
}

// Pull reads a pull request by its address, with a person's token, and judges it.
func Pull(ctx context.Context, address string, o PullOptions) (Report, error) {
	ref, api, err := parsePull(address)
	if err != nil {
		return Report{}, err
	}
	if o.APIURL != "" {
		api = o.APIURL
	}
	if o.Token == "" {
		return Report{}, fmt.Errorf("%s: no token; set GITHUB_TOKEN to one that may read the repository", address)
	}
	if err := mayCarryToken(api); err != nil {
		return Report{}, err
	}
	client, err := github.NewReader(github.Options{RESTURL: api, UserAgent: "countersign/" + o.Version}, o.Token)
	if err != nil {
		return Report{}, err
	}
	p := terminalPolicy()
	pull, reading, err := session.ReadPull(ctx, client, ref, p, time.Now())
	if err != nil {
		return Report{}, err
	}
	if want, got := hostOf(address), hostOf(pull.URL); got != want {
		return Report{}, fmt.Errorf("%s: the API at %s answers for %s; set or unset GITHUB_V3_API_URL so that both are one GitHub", address, api, got)
	}
	l := looked{reading: reading, source: Source{
		Kind: pullRequest, Name: pull.URL, Base: pull.BaseSHA, MergeBase: reading.Patch.MergeBase, Head: pull.HeadSHA, Against: pull.BaseRef,
	}}
	if pull.State != forge.PullOpen {
		l.notes = append(l.notes, "the pull request is "+string(pull.State))
	}
	return l.judge(ctx)
}

// parsePull reads https://HOST/OWNER/NAME/pull/NUMBER, with anything behind it,
// and says where that host's API is.
func parsePull(address string) (ref forge.PullRef, api string, err error) {
	bad := fmt.Errorf("%q is not a pull request's address; want https://github.com/OWNER/NAME/pull/NUMBER", address)
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return ref, "", bad
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	if len(parts) < 4 || parts[2] != "pull" || parts[0] == "" || parts[1] == "" {
		return ref, "", bad
	}
	number, err := strconv.Atoi(parts[3])
	if err != nil || number <= 0 {
		return ref, "", bad
	}
	ref = forge.PullRef{Repo: forge.Repo{Owner: parts[0], Name: parts[1]}, Number: number}
	if strings.EqualFold(u.Host, "github.com") || strings.EqualFold(u.Host, "www.github.com") {
		return ref, "https://api.github.com/", nil
	}
	return ref, u.Scheme + "://" + u.Host + "/api/v3/", nil
}

// mayCarryToken refuses to send a token in the clear to another machine.
func mayCarryToken(api string) error {
	u, err := url.Parse(api)
	if err != nil {
		return errors.New("GITHUB_V3_API_URL is no address; want one such as https://api.github.com")
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "https" || u.Hostname() == "localhost" || (ip != nil && ip.IsLoopback()) {
		return nil
	}
	return fmt.Errorf("refusing to send a token to %s without TLS; want https", u.Host)
}

// hostOf is the address's host, without the www that GitHub drops.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(strings.ToLower(u.Host), "www.")
}
