package guard

import (
	"net/http"
	"net/netip"
	"strings"
)

// Address returns where a request comes from, as limits count it: an address of IPv4, or
// the first 64 bits of one of IPv6, of which one customer has all. Behind a proxy that is
// the last forwarded address, because clients can make up all others.
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
	// An address of IPv6 has 64 bits.
	network, _ := ip.Prefix(64)
	return network.String()
}
