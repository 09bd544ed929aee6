// Package guard protects a site that strangers can reach.
//
// [Server] is an http.Server that slow or silent connections cannot hold up. [Headers] restrict
// the use of a response by a browser. [Allow] limits how often something may be done, such as
// trying passwords, across all processes; [Address] is the address that such limits count. [Name]
// returns the canonical form of a name, and [Look] a common key for names that look alike.
// [Passwords] hashes passwords.
package guard
