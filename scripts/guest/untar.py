# SPDX-License-Identifier: GPL-2.0-or-later
#
# Unpack a tar archive that a guest wrote.  No member may get out of the
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
    # Python before 3.11.4, as in Debian 12.  Check each member just before it
    # is unpacked: links that are in the directory by then decide where it goes.
    for member in archive:
        _check(member, os.path.realpath(directory))
        _tame(member)
        archive.extract(member, directory)


def _is_inside(path, directory):
    """Does the path lead below the directory, which is a real path?"""
    real = os.path.realpath(path)
    # realpath() does not follow a link whose own real path is longer.
    return (len(os.fsencode(real)) < PATH_MAX and
            os.path.commonpath([real, directory]) == directory)


def _check(member, directory):
    """ExtractError if a member would get out, or is a special file."""
    if not (member.isreg() or member.isdir() or member.issym() or
            member.islnk()):
        raise tarfile.ExtractError('%s is a special file' % member.name)
    paths = [member.name]
    if member.issym():
        paths.append(os.path.join(os.path.dirname(member.name),
                                  member.linkname))
    if member.islnk():
        paths.append(member.linkname)
        # A relative symbolic link leads elsewhere if it lies elsewhere.
        if os.path.islink(os.path.join(directory, member.linkname)):
            raise tarfile.ExtractError('%s is a link to a symbolic link'
                                       % member.name)
    for path in paths:
        if not _is_inside(os.path.join(directory, path), directory):
            raise tarfile.ExtractError(
                '%s would be outside of the directory' % path)


def _tame(member):
    """Replace the guest's owners and modes by harmless ones."""
    member.uid, member.gid = os.getuid(), os.getgid()
    member.uname = member.gname = ''
    if member.isdir():
        member.mode = 0o755
    else:
        member.mode = member.mode & 0o755 | 0o600
