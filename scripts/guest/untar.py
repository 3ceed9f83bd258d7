# SPDX-License-Identifier: GPL-2.0-or-later
#
# Unpack a tar archive that a guest wrote.  Nothing in it may get out of the
# directory that it is unpacked into.

import os
import tarfile

# Linux, include/uapi/linux/limits.h
PATH_MAX = 4096


def extract(archive, directory):
    """Unpack an open tarfile.TarFile.  tarfile.TarError or OSError if that
    cannot be done.
    """
    if hasattr(tarfile, 'data_filter'):
        archive.extractall(directory, filter='data')
        return
    # Python before 3.11.4, as in Debian 12.  Members before it, and what has
    # been in the directory, decide where a member goes.
    for member in archive:
        _check(member, os.path.realpath(directory))
        _tame(member)
        archive.extract(member, directory)


def _is_inside(path, directory):
    """Does the path lead below the directory, which is a real path?"""
    real = os.path.realpath(path)
    # It follows no link whose own real path is longer.
    return (len(os.fsencode(real)) < PATH_MAX and
            os.path.commonpath([real, directory]) == directory)


def _check(member, directory):
    """Refuse what would get out, and what is no data."""
    if not (member.isreg() or member.isdir() or member.issym() or
            member.islnk()):
        raise tarfile.ExtractError('%s is a special file' % member.name)
    paths = [member.name]
    if member.issym():
        paths.append(os.path.join(os.path.dirname(member.name),
                                  member.linkname))
    if member.islnk():
        paths.append(member.linkname)
        # Elsewhere a relative one would lead elsewhere.
        if os.path.islink(os.path.join(directory, member.linkname)):
            raise tarfile.ExtractError('%s is a link to a symbolic link'
                                       % member.name)
    for path in paths:
        if not _is_inside(os.path.join(directory, path), directory):
            raise tarfile.ExtractError(
                '%s would be outside of the directory' % path)


def _tame(member):
    """Take away what the guest's owners and modes would allow here."""
    member.uid, member.gid = os.getuid(), os.getgid()
    member.uname = member.gname = ''
    if member.isdir():
        member.mode = 0o755
    else:
        member.mode = member.mode & 0o755 | 0o600
