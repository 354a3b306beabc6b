package services

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"tidemark/shared/fault"
)

// account is the user that a server runs as when this process is root: PostgreSQL refuses to run as root. A nil account
// stands for the user of this process.
type account struct {
	uid uint32
	gid uint32
}

// unprivileged is "postgres" if there is such a user, else "nobody"; nil when this process is not root.
func unprivileged() (*account, error) {
	if os.Getuid() != 0 {
		return nil, nil //nolint:nilnil // nil is the user of this process
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		return parseAccount(found)
	}
	return nil, fault.New(fault.Misconfigured, "PostgreSQL refuses to run as root and there is neither a user postgres nor nobody").
		WithHint("run as another user, or name a server that is up")
}

func parseAccount(found *user.User) (*account, error) {
	uid, err := strconv.ParseUint(found.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("parse the id of user %s: %w", found.Username, err)
	}
	gid, err := strconv.ParseUint(found.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("parse the group of user %s: %w", found.Username, err)
	}
	return &account{uid: uint32(uid), gid: uint32(gid)}, nil
}

// credential is what a child is started with: the account, without this process's supplementary groups.
func (a *account) credential() *syscall.Credential {
	if a == nil {
		return nil
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid}
}

// give makes the account the owner of the folder and everything below.
func (a *account) give(dir string) (err error) {
	if a == nil {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("give a folder to another account: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return fs.WalkDir(root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return root.Lchown(name, int(a.uid), int(a.gid))
	})
}

// reachable says whether every user may enter the folder and all above it.
func reachable(dir string) bool {
	const othersMayEnter = 0o001
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&othersMayEnter == 0 {
			return false
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return true
		}
		dir = parent
	}
}
