# SPDX-License-Identifier: Apache-2.0
# Completion of torusctl, torus-plan and torus-array in Bash. Commands and options are those that --help prints.

_torusctl_options()
{
    "$@" --help 2>/dev/null | grep -o -e '--[a-z][a-z-]*' | sort -u
}

_torusctl_names() # of the values of jobs or groups that torusctl prints as JSON
{
    "$1" "$2" --json --timeout 0.3 2>/dev/null | sed -n "s/^ *\"$3\": \"\([^\"]*\)\",\?\$/\1/p"
}

_torusctl()
{
    local program=${COMP_WORDS[0]} command=${COMP_WORDS[1]} word=${COMP_WORDS[COMP_CWORD]}
    local before=${COMP_WORDS[COMP_CWORD - 1]} words= i
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        words="$("$program" --help 2>/dev/null | sed -n -e 's/^  \([a-z][a-z]*\)  *[a-z].*/\1/p' \
            -e '/^OPERATION is/,/\.$/s/OPERATION is\|,\|or\|\.//gp')"
        mapfile -t COMPREPLY < <(compgen -W "$words --help --version" -- "$word")
        return
    fi
    for ((i = 2; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} == -- ]] || continue # torusctl run -- COMMAND
        if ((i + 1 == COMP_CWORD)); then
            mapfile -t COMPREPLY < <(compgen -c -- "$word")
        else
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
        fi
        return
    done
    if [[ $word == -* ]]; then
        words=$(_torusctl_options "$program" "$command")
    elif [[ $before == --* && $before != --json && $before != --here && $before != --watch ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word") # the value of an option
        return
    elif [[ $command == config && $COMP_CWORD == 2 ]]; then
        words="check show diff"
    elif [[ $command == stragglers || $command == why || $command == trace || $command == cancel ]]; then
        words=$(_torusctl_names "$program" jobs name)
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o filenames -F _torusctl torusctl torus-plan torus-array
