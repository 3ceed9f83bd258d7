# SPDX-License-Identifier: GPL-2.0-or-later
#
# Write initramfs archives (cpio, "newc") without root and without the cpio
# command.  All files belong to root, device nodes need not exist on the host,
# and the same input gives the same bytes.  Source: Linux,
# Documentation/driver-api/early-userspace/buffer-format.rst.

import os
import stat


class Archive:
    """A newc archive that is being written to a binary file object."""

    def __init__(self, out):
        self._out = out
        self._ino = 0
        self._dirs = set()

    def _member(self, name, mode, data=b'', rdev=(0, 0)):
        self._ino += 1
        raw = os.fsencode(name) + b'\0'
        fields = (self._ino, mode, 0, 0, 1, 0, len(data), 0, 0,
                  rdev[0], rdev[1], len(raw), 0)
        header = b'070701' + b''.join(b'%08X' % f for f in fields)
        for part in (header + raw, data):
            self._out.write(part + b'\0' * (-len(part) % 4))

    def directory(self, name, mode=0o755):
        """Add a directory and those above it."""
        name = name.strip('/')
        if not name or name in self._dirs:
            return
        self.directory(os.path.dirname(name))
        self._dirs.add(name)
        self._member(name, stat.S_IFDIR | mode)

    def file(self, name, data, mode=0o644):
        """Add a regular file with these bytes."""
        name = name.strip('/')
        self.directory(os.path.dirname(name))
        self._member(name, stat.S_IFREG | mode, data)

    def symlink(self, name, target):
        name = name.strip('/')
        self.directory(os.path.dirname(name))
        self._member(name, stat.S_IFLNK | 0o777, os.fsencode(target))

    def char_device(self, name, mode, major, minor):
        name = name.strip('/')
        self.directory(os.path.dirname(name))
        self._member(name, stat.S_IFCHR | mode, rdev=(major, minor))

    def path(self, source, name):
        """Add a file, or a directory with all that it holds, of the host.
        OSError if one cannot be read.
        """
        if os.path.islink(source) and not os.path.exists(source):
            self.symlink(name, os.readlink(source))
        elif os.path.isdir(source):
            self.directory(name)
            for entry in sorted(os.listdir(source)):
                self._entry(os.path.join(source, entry),
                            os.path.join(name, entry))
        elif os.path.isfile(source):
            with open(source, 'rb') as f:
                self.file(name, f.read(), os.stat(source).st_mode & 0o7777)
        else:
            # Add a pipe or socket as such.  Reading it might wait for ever.
            self._special(name, os.stat(source))

    def _special(self, name, status):
        name = name.strip('/')
        self.directory(os.path.dirname(name))
        self._member(name, status.st_mode, rdev=(os.major(status.st_rdev),
                                                 os.minor(status.st_rdev)))

    def _entry(self, source, name):
        # Links inside of a copied directory stay links.
        if os.path.islink(source):
            self.symlink(name, os.readlink(source))
        else:
            self.path(source, name)

    def end(self):
        """Add the trailer, and the padding that a further archive needs."""
        self._member('TRAILER!!!', 0)
        self._out.write(b'\0' * (-self._out.tell() % 512))
