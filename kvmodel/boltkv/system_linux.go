package boltkv

import (
	"os"
	"syscall"
)

func syncData(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err != syscall.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}

// File systems unsuitable for the file, by Linux's magic numbers.
const (
	remote   = "other machines may lock and sync there otherwise than this one"
	fleeting = "it is gone with the machine"
	layered  = "it is gone with the container"
)

var unfit = map[uint32]struct{ kind, why string }{
	0x6969:     {"NFS", remote},
	0x517b:     {"SMB", remote},
	0xff534d42: {"CIFS", remote},
	0xfe534d42: {"SMB", remote},
	0x01021997: {"9P", remote},
	0x65735546: {"FUSE", "it depends on what is behind whether a sync gets to a disk"},
	0x00c36400: {"Ceph", remote},
	0x5346414f: {"AFS", remote},
	0x01021994: {"tmpfs", fleeting},
	0x858458f6: {"ramfs", fleeting},
	0x794c7630: {"overlayfs", layered},
}

func roomIn(folder string) (room, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(folder, &st); err != nil {
		return room{}, err
	}
	is := unfit[uint32(st.Type)]
	return room{uint64(st.Bavail) * uint64(st.Bsize), is.kind, is.why}, nil
}
