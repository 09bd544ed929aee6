package servers

import (
	"os"
	"slices"
)

// Memcached starts a memcached of 64 MB that listens only on a free port of the loopback address.
// It refuses writes when it is full (-M), as indexes require. Later args override earlier ones, so
// "-m", "2" makes it small.
func Memcached(args ...string) (*Process, error) {
	return MemcachedThatEvicts(append([]string{"-M"}, args...)...)
}

// MemcachedThatEvicts starts a memcached that drops items when it is full.
func MemcachedThatEvicts(args ...string) (*Process, error) {
	ports, err := FreePorts(1)
	if err != nil {
		return nil, err
	}
	all := []string{"-l", "127.0.0.1", "-p", ports[0], "-U", "0", "-m", "64"}
	if os.Getuid() == 0 {
		// It refuses to run as root unless -u names a user.
		all = append(all, "-u", "root")
	}
	return start("memcached", "127.0.0.1:"+ports[0], slices.Concat(all, args)...)
}
