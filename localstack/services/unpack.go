package services

import (
	"archive/tar"
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ulikunitz/xz"
)

// unpack opens the jar, a zip with one .txz in it, and unpacks that archive into dir, which must not exist. Nothing is
// written outside dir, whatever the archive says.
func unpack(jar, dir string) (err error) {
	archive, err := zip.OpenReader(jar)
	if err != nil {
		return err
	}
	defer func() { _ = archive.Close() }()       // only read from
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // binaries that every account may run
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, entry := range archive.File {
		if strings.HasSuffix(entry.Name, ".txz") {
			return unpackCompressed(entry, root)
		}
	}
	return errors.New("there is no .txz in the jar")
}

func unpackCompressed(entry *zip.File, root *os.Root) error {
	compressed, err := entry.Open()
	if err != nil {
		return err
	}
	defer func() { _ = compressed.Close() }() // only read from
	plain, err := xz.NewReader(compressed)
	if err != nil {
		return err
	}
	files := tar.NewReader(plain)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := unpackFile(header, files, root); err != nil {
			return fmt.Errorf("%s: %w", header.Name, err)
		}
	}
}

// unpackFile writes one member. The digest vouches for the archive; the root and the refusal of other kinds are for the
// day when somebody pins a wrong one.
func unpackFile(header *tar.Header, content io.Reader, root *os.Root) (err error) {
	name := filepath.Clean(header.Name)
	if header.Typeflag == tar.TypeDir {
		return root.MkdirAll(name, 0o755)
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeSymlink:
		return root.Symlink(header.Linkname, name)
	case tar.TypeReg:
		const permissions = 0o755
		file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, header.FileInfo().Mode()&permissions)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, content)
		return errors.Join(err, file.Close())
	}
	return fmt.Errorf("a member of kind %q", header.Typeflag)
}
