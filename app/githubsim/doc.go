// Package githubsim is a GitHub that runs inside one process: REST, GraphQL, webhooks and real git
// objects, over HTTP on the loopback interface. `countersign demo` shows the product against it, and
// the whole-path tests run against it.
//
// It imports nothing else of this module and must not: a simulator that shared our types would share
// our misreadings, and a test against it would prove only that we agree with ourselves. What it does
// is taken from GitHub's published API description and GraphQL schema; package apicheck holds both
// sides to that description.
//
// A typical use:
//
//	sim, err := githubsim.New(githubsim.Options{Clock: clock})
//	if err != nil { … }
//	defer sim.Close()
//	url, err := sim.Start() // REST at url+"/", GraphQL at url+"/graphql"
//
//	repo, err := sim.AddRepo(githubsim.RepoSpec{Owner: "acme", Name: "shop"})
//	_, err = repo.Commit("main", "start", githubsim.CommitSpec{Changes: []githubsim.Change{
//		{Path: "README.md", Content: "# shop\n"},
//	}})
//
//	app, err := sim.AddApp(githubsim.App{
//		ID: 4711, Slug: "countersign", WebhookURL: bot.URL, WebhookSecret: "…",
//		Permissions: map[string]string{"contents": "read", "checks": "write", "pull_requests": "write"},
//		Events:      []string{"pull_request", "check_run", "check_suite", "status"},
//	})
//	inst, err := sim.Install(app, "acme", repo) // app.PrivateKeyPEM() is the key a client needs
//
//	pull, err := repo.OpenPull(githubsim.PullSpec{
//		Title: "Say hello", Author: "mona", Head: "hello",
//		Changes: []githubsim.Change{{Path: "README.md", Content: "# shop\n\nhello\n"}},
//	}) // sends pull_request.opened
//	_, err = repo.SetCheck(pull.HeadSHA(), githubsim.CheckSpec{Name: "build", Conclusion: "success"})
//	_, err = pull.Push(githubsim.Change{Path: "a.go", Content: "package a\n"}) // synchronize
//	err = sim.WaitIdle(ctx) // every webhook was delivered
//	runs := repo.CheckRuns(pull.HeadSHA())
//
// Webhooks are delivered in order by one background worker with GitHub's 10 s limit and no redelivery
// by itself; with more of them (Options.HookWorkers) those of each repository are in order. With Options.HoldWebhooks they wait until DeliverNext, DeliverHeld or DropHeld.
// Faults (Fail) break chosen requests in chosen ways: by route, GraphQL operation or installation, before
// or after the work; Requests lists what was asked, and RequestCounts counts it.
//
// The hourly limit is always on, those of points and content with Options.Limits; Refusals counts what
// each refused.
//
// Reviews have their comments and threads, over REST and GraphQL. A thread stands where its line stands
// in the present diff, and is outdated where that line was changed, removed or left the diff.
//
// Not simulated: events of comments that are edited or deleted and of threads that are resolved, review
// requests and reviewDecision, mutations other than those of testdata/github/mutations.txt, upload of
// scan results, job logs, tarballs, search. What the API description names of these is listed in
// TestDescribedOperations.
package githubsim
