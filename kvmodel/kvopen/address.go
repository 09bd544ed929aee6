package kvopen

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// address says where servers are and who logs in there.
type address struct {
	user, password string
	hosts          []string // each HOST:PORT, no two alike
	path           string   // what follows the hosts, without the slash
}

// parseAddress splits //USER:PASSWORD@HOST:PORT,HOST:PORT/PATH. The default host
// is this machine, and the default port is port.
func parseAddress(rest, port string) (address, error) {
	rest, ok := strings.CutPrefix(rest, "//")
	if !ok {
		return address{}, errors.New("two slashes must follow the colon")
	}
	var a address
	// A password may contain a slash: only what follows the last @ is an address.
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if err := a.logIn(rest[:at]); err != nil {
			return address{}, err
		}
		rest = rest[at+1:]
	}
	hosts, path, _ := strings.Cut(rest, "/")
	a.path = path
	if hosts == "" {
		hosts = "127.0.0.1"
	}
	for _, text := range strings.Split(hosts, ",") {
		host, err := hostPort(text, port)
		if err != nil {
			return address{}, fmt.Errorf("host %q: %w", text, err)
		}
		if slices.Contains(a.hosts, host) {
			return address{}, fmt.Errorf("host %q is given twice", text)
		}
		a.hosts = append(a.hosts, host)
	}
	return a, nil
}

func (a *address) logIn(text string) error {
	user, password, _ := strings.Cut(text, ":")
	var errUser, errPassword error
	a.user, errUser = url.PathUnescape(user)
	a.password, errPassword = url.PathUnescape(password)
	if errUser != nil || errPassword != nil {
		// Those errors show a part of the password.
		return errors.New("user name or password: write % as %25")
	}
	return nil
}

// hostPort returns text as HOST:PORT, with port if it has none.
func hostPort(text, port string) (string, error) {
	host := text
	if strings.Contains(text, ":") && !strings.HasSuffix(text, "]") {
		var err error
		if host, port, err = net.SplitHostPort(text); err != nil {
			return "", errors.New("it is not HOST:PORT; write an IPv6 address as [::1]:PORT")
		}
	}
	host = strings.Trim(host, "[]")
	if host == "" {
		return "", errors.New("the name is missing")
	}
	if i := strings.IndexFunc(host, notInHost); i >= 0 {
		return "", fmt.Errorf("it contains %q", host[i])
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("port %q is not in 1..65535", port)
	}
	return net.JoinHostPort(host, port), nil
}

func notInHost(c rune) bool {
	return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune(".-_:%", c))
}
