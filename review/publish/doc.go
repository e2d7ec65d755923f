// Package publish turns what a session found into what people see, and posts it:
// the check run's title, conclusion and text, GitHub's limits, and the promise
// that nothing visible appears twice. It must not decide anything: the gate's
// outcome comes in ready, and a view without one can never satisfy a required
// check. It knows the forge only as a CheckWriter and the database only as a
// Store.
//
// One check run per key, which is a repository, a head and a check's name:
//
//	            claim               intend              POST             save
//	nothing  ---------->  claimed  -------->  intended  ------>  posted  ----->  known
//	                                             |                  |              |
//	                                             | killed here, or  |              | a title or conclusion
//	                                             | no answer: ask   |              | that changed: intend,
//	                                             v OwnChecks        v              v PATCH, save
//	                                          adopted, or posted once more        known
//
// The key's row serialises all of this across processes: it is claimed for a
// while, every save names the claim's number, and a write to the forge is given
// no more time than the claim lasts. What was posted is compared with what is
// wanted, never with what was meant to be posted: an intention that was not
// confirmed is posted again.
//
// Open pull requests that share a head share its key, and the check says the
// worst of them.
//
// Two names inform and never judge: `countersign / review` lists the findings, each
// once, and `countersign / coverage` shows who looked at which file. They are written
// once there is a decision, completed and neutral, and again only when what they list
// changes.
//
// Annotations, which `countersign / review` bears, are appended by the forge and never
// taken back, so a run gets one set, once, in as many writes as that takes. A changed
// set is another run under the same key.
package publish
