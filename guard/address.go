package guard

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Address returns the address of a request for limits: an IPv4 address, or the first 64 bits of an
// IPv6 address, which belong to one customer. With proxied it is the last forwarded address, since
// clients can forge the others.
func Address(r *http.Request, proxied bool) string {
	if forwarded := r.Header.Values("X-Forwarded-For"); proxied && len(forwarded) > 0 {
		last := forwarded[len(forwarded)-1]
		if ip, err := netip.ParseAddr(strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])); err == nil {
			return customer(ip)
		}
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return customer(peer.Addr())
}

func customer(ip netip.Addr) string {
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	network, _ := ip.Prefix(64)
	return network.String()
}

// Local returns path if every browser takes it for a page of the site itself, and otherwise "/".
func Local(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(path, "/") ||
		strings.HasPrefix(path, "//") || strings.Contains(path, `\`) {
		return "/"
	}
	return path
}
