// Package storeurl parses addresses and options of store URLs. Its errors name the fault and the
// valid form, and show no password.
package storeurl

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

type Address struct {
	User, Password string
	Hosts          []string // each HOST:PORT, without duplicates
	Path           string   // after the hosts, without the slash
}

// ParseAddress splits //USER:PASSWORD@HOST:PORT,HOST:PORT/PATH. The default host is this machine.
func ParseAddress(rest, port string) (Address, error) {
	rest, ok := strings.CutPrefix(rest, "//")
	if !ok {
		return Address{}, errors.New("two slashes must follow the colon")
	}
	var a Address
	// A password may contain a slash: only the part after the last @ is an address.
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if err := a.logIn(rest[:at]); err != nil {
			return Address{}, err
		}
		rest = rest[at+1:]
	}
	hosts, path, _ := strings.Cut(rest, "/")
	a.Path = path
	if hosts == "" {
		hosts = "127.0.0.1"
	}
	for _, text := range strings.Split(hosts, ",") {
		host, err := hostPort(text, port)
		if err != nil {
			return Address{}, fmt.Errorf("host %q: %w", text, err)
		}
		if slices.Contains(a.Hosts, host) {
			return Address{}, fmt.Errorf("host %q is given twice", text)
		}
		a.Hosts = append(a.Hosts, host)
	}
	return a, nil
}

func (a *Address) logIn(text string) error {
	user, password, _ := strings.Cut(text, ":")
	var errUser, errPassword error
	a.User, errUser = url.PathUnescape(user)
	a.Password, errPassword = url.PathUnescape(password)
	if errUser != nil || errPassword != nil {
		// The original errors show a part of the password.
		return errors.New("user name or password: write % as %25")
	}
	return nil
}

func hostPort(text, port string) (string, error) {
	host := text
	if colon := strings.LastIndexByte(text, ':'); colon >= 0 && !strings.HasSuffix(text, "]") {
		host, port = text[:colon], text[colon+1:]
	}
	inner, bracketed := strings.CutPrefix(host, "[")
	if bracketed {
		host = strings.TrimSuffix(inner, "]")
	}
	if strings.Contains(host, ":") != bracketed {
		return "", errors.New("it is not HOST:PORT; write an IPv6 address as [::1]:PORT")
	}
	if host == "" {
		return "", errors.New("the name is missing")
	}
	if i := strings.IndexFunc(host, notInHost); i >= 0 {
		return "", fmt.Errorf("it contains %q", host[i])
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("port %q is not in 1..65535", port)
	}
	if bracketed {
		host = "[" + host + "]"
	}
	return host + ":" + port, nil
}

func notInHost(c rune) bool {
	return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune(".-_:%", c))
}
