// Package repotest tests the repository as a whole: import rules, the list of stored keys, the
// programs in the docs, the tutorial, and a release as its users get it.
package repotest
