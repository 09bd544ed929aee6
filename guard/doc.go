// Package guard keeps a site that strangers can reach from harm.
//
// [Server] is an http.Server that no slow or silent connection holds up. [Headers] are those
// that keep a browser from doing more with an answer than showing it.
//
// [Allow] limits how often something may be done, such as trying passwords, in all processes
// together. [Address] is whom such limits count.
//
// [Name] returns the one form of a name, and [Look] what names that look alike have in
// common. [Passwords] hashes passwords.
package guard
