// Package guard protects a site that strangers can reach.
//
// [Server] is an http.Server that no slow or silent connection holds up. [Headers] keep a browser
// from doing more with a response than showing it.
//
// [Allow] limits how often something may be done, such as trying passwords, across all processes.
// [Address] is the address that such limits count.
//
// [Name] returns the canonical form of a name, and [Look] a common key for names that look alike.
// [Passwords] hashes passwords.
package guard
