# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Make the patch series a chain of commits on the pristine QEMU source.
# Sourced by the scripts that apply, write and check patches.

# commit_series DIR: put DIR/*.patch, in order, on top of the tag "base".
# The new commits' hashes depend on the patches alone, so an unchanged series
# gives the same tip.  The work tree is not touched.
# Sets series_tip, series_count, and series_names[COMMIT] = file name;
# series_notes gets a line for each hunk that only fits at another line.
commit_series() {
    local dir=$1 patch index work notes
    local -x GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE
    local -x GIT_COMMITTER_DATE
    declare -gA series_names=()
    declare -g series_tip series_count=0 series_notes=
    series_tip=$(src_git rev-parse 'base^{commit}')
    work=$(mktemp -d "$build/patches.XXXXXX")
    index=$work/index
    with_index "$index" read-tree "$series_tip"
    for patch in "$dir"/*.patch; do
        [[ -e $patch ]] || break
        # mailinfo splits the mail: headers go to info, the text to msg.
        src_git mailinfo -b "$work/msg" "$work/diff" \
            < "$patch" > "$work/info" ||
            { rm -r "$work"; die "patches/${patch##*/}: not a patch by mail"; }
        if ! notes=$(LC_ALL=C with_index "$index" apply --cached -v \
                         --whitespace=nowarn "$work/diff" 2>&1); then
            rm -r "$work"
            die "patch ${patch##*/} does not fit QEMU" \
                "$(< "$build/src/VERSION"): $(first_misfit "$notes")"
        fi
        series_notes+=$(sed -n "s/^Hunk/${patch##*/}: hunk/p" <<< "$notes")
        GIT_AUTHOR_NAME=$(sed -n 's/^Author: //p' "$work/info")
        GIT_AUTHOR_EMAIL=$(sed -n 's/^Email: //p' "$work/info")
        GIT_AUTHOR_DATE=$(sed -n 's/^Date: //p' "$work/info")
        GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE
        series_tip=$({ sed -n 's/^Subject: //p' "$work/info"
                       echo
                       cat "$work/msg"
                     } | src_git commit-tree -p "$series_tip" \
                            "$(with_index "$index" write-tree)")
        series_names[$series_tip]=${patch##*/}
        series_count=$((series_count + 1))
    done
    rm -r "$work"
}

# with_index FILE GIT-ARGS...: run git with FILE as its index.
with_index() {
    local -x GIT_INDEX_FILE=$1
    shift
    src_git "$@"
}

# first_misfit OUTPUT: print the first hunk that failed in git apply's output,
# as "FILE, hunk at line N".
first_misfit() {
    local line
    line=$(sed -n 's/^error: patch failed: \(.*\):\([0-9]*\)$/\1, hunk at line \2/p' \
           <<< "$1" | head -n 1)
    [[ -n $line ]] || line=$(sed -n 's/^error: //p' <<< "$1" | head -n 1)
    printf '%s' "$line"
}
