# bash completion for qpm-kernel-ci and qpm-run-guest    -*- shell-script -*-
# SPDX-License-Identifier: GPL-2.0-or-later

_qpm()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}

    COMPREPLY=()
    case $prev in
    --kernel)
        mapfile -t COMPREPLY < <(compgen -f -W "5.10 6.1 6.12 6.19 7.3
            bookworm trixie trixie-backports" -- "$cur")
        return ;;
    --cpu)
        mapfile -t COMPREPLY < <(compgen -W "icx spr
            Icelake-Server,+perf-metrics SapphireRapids,+perf-metrics" \
            -- "$cur")
        return ;;
    --suite)
        mapfile -t COMPREPLY < <(compgen -W "$("$1" list 2>/dev/null)" \
            -- "$cur")
        return ;;
    esac
    if [[ $cur = -* ]]; then
        # The program's --help lists its options.
        mapfile -t COMPREPLY < <(compgen -W "$("$1" --help |
            grep -o -e '--[a-z][a-z-]*' | sort -u)" -- "$cur")
    elif [[ $1 = *kernel-ci && $COMP_CWORD -eq 1 ]]; then
        mapfile -t COMPREPLY < <(compgen -W "run plan job merge compare
            report rerun list" -- "$cur")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    fi
}

complete -o filenames -F _qpm qpm-kernel-ci qpm-run-guest
