// Package repotest tests the repository as a whole: imports, stored keys, programs in the docs, the
// tutorial, and a release as its users get it.
package repotest
