// Package oldforms has lists, counts and rows of keys in the plain forms from which packages index
// and timeline developed. It is for learning, not for use: each comment names the limits of the
// form and the index to use instead. docs/origins.md explains the origin of the ideas.
package oldforms
