// Package local reads patches, files and history from a git repository on this
// machine. It starts the git program and nothing else, writes nothing into the
// repository, and uses no network.
//
// A clone is hostile: its configuration can name programs (fsmonitor, filters,
// external diffs, textconv, hooks, a pager, ssh), and git starts them in the
// middle of harmless commands. To forbid them one by one would be a race against
// git's next release. Instead git never opens the clone as a repository at all:
//
//   - Open finds the folders itself and makes a bare repository of its own in a
//     temporary folder: a configuration written here, no hooks, no attributes,
//     no grafts, no replacements. The clone lends it only its objects (as an
//     alternate), its refs (as links that are only read), copies of HEAD, of the
//     list of shallow commits and of the index.
//   - The clone's configuration is read as a list of keys, by `git config --file
//     --no-includes`, for the few values without which an untouched work tree
//     would look changed (line ends, file modes). They are checked and written
//     out anew.
//   - The environment is made from nothing. git is started by an absolute path
//     that lies outside the clone.
//   - A work tree is read once, into blobs and a tree of the private repository.
//     From then on it is a commit like any other, so that nothing about it can
//     change between two looks. Filters have no program there, and submodules
//     are never entered.
//
// What a clone says of its own content is still only its word: git does not hold
// packed objects against their ids when it compares them. Files read one by one
// are (Blob, Content). Its caches of what commits and trees hold are not used.
//
// The package must not know what a change means, and prints nothing.
package local
