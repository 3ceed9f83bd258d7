# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What configure and the scripts beside this file share: paths, and functions
# that print progress and errors.  It is sourced, never run.

# The repository's root, whatever directory the caller stands in.
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Directories whose files are laid over QEMU's tree at the same path.
# Used by scripts/lay-tree.
# shellcheck disable=SC2034
overlay_dirs=(accel target hw include qapi docs tests/qtest)

program=$(basename "$0")

# The build directory; --build-dir or $BUILD changes it.  In a Debian package,
# which has QEMU beside its scripts (artifacts.py), it is in the user's caches.
if [[ -e $top/bin/qemu-system-x86_64 ]]; then
    build=${BUILD:-${XDG_CACHE_HOME:-$HOME/.cache}/qemu-perf-metrics}
else
    build=${BUILD:-$top/build}
fi

# say TEXT...: print a line of progress, to stderr, as stdout is for data.
say() {
    printf '%s: %s\n' "$program" "$*" >&2
}

# die TEXT...: print a line that says what is wrong, and give up.
die() {
    printf '%s: error: %s\n' "$program" "$*" >&2
    exit 1
}

# need_value OPTION [VALUE]: an option that takes a value must have one.
need_value() {
    [[ $# -ge 2 ]] || die "option $1 needs a value (try --help)"
}

# print_help FILE: the comment block at the top of FILE is its help text.
print_help() {
    awk 'NR > 2 && !/^#/ { exit }
         NR > 2 { sub(/^# ?/, ""); print }' "$1"
}

# set_build_dir DIR: use DIR, made absolute, as the build directory.
set_build_dir() {
    mkdir -p "$1"
    build=$(cd "$1" && pwd)
}

# configured NAME: print the value of this variable in configure's last run, if
# there was one.
configured() {
    # shellcheck source=/dev/null
    [[ ! -e $build/configure-options ]] ||
        (. "$build/configure-options" && printf '%s' "${!1}")
}

# The Python that all steps use.  The first python3 in PATH may be a version
# manager's, without the modules of Debian's packages.
PYTHON=${PYTHON:-/usr/bin/python3}

# src_git ARGS...: git on the history of the patched QEMU tree.  The
# repository lies beside the tree, not in it, because QEMU's build behaves
# differently in a git checkout (-Werror, version string, submodules).
# The user's own git settings (hooks, signing, autocrlf) are ignored.
src_git() {
    GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null \
        git --git-dir="$build/src.git" --work-tree="$build/src" \
        -c core.autocrlf=false -c core.fileMode=true \
        -c user.name='qemu-perf-metrics' -c user.email='patches@localhost' \
        "$@"
}

# Stamps: a step is done if its stamp file holds the step's inputs.
stamp_is() {
    [[ -e $build/stamps/$1 && $(< "$build/stamps/$1") = "$2" ]]
}

set_stamp() {
    mkdir -p "$build/stamps"
    printf '%s\n' "$2" > "$build/stamps/$1"
}
