# SPDX-License-Identifier: GPL-2.0-or-later
#
# Unpack a tar archive that a guest wrote.  Nothing in it may get out of the
# directory that it is unpacked into.

import os
import tarfile


def extract(archive, directory):
    """Unpack an open tarfile.TarFile.  tarfile.TarError or OSError if that
    cannot be done.
    """
    if hasattr(tarfile, 'data_filter'):
        archive.extractall(directory, filter='data')
        return
    # Python before 3.11.4, as in Debian 12
    members = archive.getmembers()
    for member in members:
        _check(member)
    for member in members:
        _tame(member)
    archive.extractall(directory, members)


def _stays(name):
    return not name.startswith('/') and '..' not in name.split('/')


def _check(member):
    """Refuse what would get out, and what is no data."""
    if not (member.isreg() or member.isdir() or member.issym() or
            member.islnk()):
        raise tarfile.ExtractError('%s is a special file' % member.name)
    link = member.issym() or member.islnk()
    for name in [member.name] + ([member.linkname] if link else []):
        if not _stays(name):
            raise tarfile.ExtractError(
                '%s would be outside of the directory' % name)


def _tame(member):
    """Take away what the guest's owners and modes would allow here."""
    member.uid, member.gid = os.getuid(), os.getgid()
    member.uname = member.gname = ''
    if member.isdir():
        member.mode = 0o755
    else:
        member.mode = member.mode & 0o755 | 0o600
