#!/bin/sh
# liza's hook for coding agents: sh hook.sh CLIENT KIND, with the client's event as JSON on standard input.
#
# KIND says what the event is to liza: `before` a tool or model call, `prompt`, `after` calls were made, `start` of a
# session, `request` to the model of a client that reports no start, or `note`. The event is never parsed here, and liza
# is started only while agents are halted, or this session is stopped or warned, because an agent runs this twice for
# every call. Where liza cannot be started, this script decides: a halt
# blocks with exit code 2, the only one that clients block on; without a halt the call goes on.
umask 077
client=$1 kind=$2
refused=0 # only what is about to begin can be refused: at the end of a turn, 2 would make the agent continue
case $kind in before | prompt | request) refused=2 ;; esac

# --- the blackboard: LIZA_ROOT, else the nearest .liza upward, or that of the main work tree of git -------------------
main_board() { # in $1, the top of a linked work tree: sets $main to the .liza of the main one
  main=
  [ -f "$1/.git" ] && read -r main < "$1/.git" || [ -n "$main" ] || return 1
  main=${main#gitdir: }
  case $main in
    /*/.git/worktrees/*) ;;
    */.git/worktrees/*) main=$1/$main ;;
    *) return 1 ;;
  esac
  main=${main%/.git/worktrees/*}/.liza
  [ -d "$main" ]
}

board=
if [ -n "$LIZA_ROOT" ]; then
  board=${LIZA_ROOT%/}
  case $board in
    .liza | */.liza) ;;
    *) if main_board "$board"; then board=$main; else board=$board/.liza; fi ;;
  esac
  if [ ! -d "$board" ]; then
    echo "liza: stopped, because LIZA_ROOT is $LIZA_ROOT, where there is no .liza/" >&2
    echo "  hint: unset LIZA_ROOT, or run there: liza init" >&2
    exit "$refused"
  fi
else
  folder=$PWD
  while [ -n "$folder" ]; do
    if main_board "$folder"; then
      board=$main
      break
    fi
    if [ -d "$folder/.liza" ]; then # one without a state.yaml must not hide another above it
      [ -n "$board" ] || board=$folder/.liza
      if [ -e "$folder/.liza/state.yaml" ]; then
        board=$folder/.liza
        break
      fi
    fi
    folder=${folder%/*}
  done
  [ -n "$board" ] || exit 0
fi

new_draft() { # a name that cannot be predicted, and no file there; without starting a program where that is possible
  if read -r id 2> /dev/null < /proc/sys/kernel/random/uuid; then
    draft=$spool/.${id%%-*}${id##*-}
    set -C
  else
    draft=$(mktemp "$spool/.XXXXXXXXXXXX")
  fi
}

# --- keep the event for the daemon, whole or not at all; a failure must not stop the agent ----------------------------
event=
case $kind in
  before | prompt | request) ;;
  *)
    spool=$board/spool
    if [ ! -L "$spool" ] && { [ -d "$spool" ] || mkdir "$spool" 2> /dev/null || [ -d "$spool" ]; } &&
      new_draft &&
      { printf 'liza 1\n%s\n%s\n' "${LIZA_AGENT%%
*}" "${LIZA_TASK%%
*}" && cat; } > "$draft"; then
      exec < "$draft" # for liza, below; the daemon may be faster and take the file away
      mv "$draft" "$spool/$client-$kind-${draft##*/.}" || echo "liza: this step was not recorded ($spool)" >&2
    else
      [ -z "$draft" ] || rm -f "$draft"
      echo "liza: this step was not recorded, because $spool cannot be written; see: liza doctor" >&2
    fi ;;
esac

concerns() { # whether the halt of a session may be about this event: its name is there, or is not the one that clients use
  name=${1##*/}
  case $name in
    '*') return 1 ;;
    *%*) return 0 ;;
  esac
  [ ${#name} -le 80 ] || return 0
  case $event in *"\"$name\""* | '') return 0 ;; esac
  return 1
}

is_watched() { # whether a daemon seems to run; liza itself looks better
  pid=
  while read -r key pid && [ "$key" != '"pid":' ]; do pid=; done 2> /dev/null < "$board/watch.json"
  pid=${pid%,}
  [ -n "$pid" ] && kill -0 "$pid" 2> /dev/null || return
  line=unknown # one that has ended, and was not waited for, has no command
  [ ! -r "/proc/$pid/cmdline" ] || read -r line 2> /dev/null < "/proc/$pid/cmdline"
  [ -n "$line" ]
}

# --- may work go on? ---------------------------------------------------------------------------------------------------
halt=$board/CHECKPOINT
if [ ! -e "$halt" ] && [ ! -L "$halt" ]; then
  halt=
  if [ "$kind" != start ]; then # others may be stopped for hours: that must not start liza for every call of this one
    concerned=
    if [ -d "$board/stopped" ]; then
      event=$(cat)
      for file in "$board/stopped"/*; do ! concerns "$file" || concerned=1; done
    fi
    [ -n "$concerned" ] || { [ "$kind" = request ] && ! is_watched; } || exit 0
  fi
fi

# The program that `liza install` found, noted beside this script; clients may reset PATH and HOME.
home=${0%/*}
[ -r "$home/program" ] || home=${XDG_DATA_HOME:-$HOME/.local/share}/liza
liza=
[ ! -r "$home/program" ] || read -r liza < "$home/program"
[ -x "$liza" ] || liza=$(command -v liza) || liza=

if [ -n "$liza" ]; then
  if [ -n "$event" ]; then
    printf '%s\n' "$event" | LIZA_ROOT=$board "$liza" hook "$client" "$kind"
  else
    LIZA_ROOT=$board "$liza" hook "$client" "$kind"
  fi
  case $? in 0) exit 0 ;; 2) exit "$refused" ;; esac # any other code is no answer: it did not start, or was killed
fi
[ "$refused" = 2 ] || exit 0
if [ -n "$halt" ]; then
  line=
  read -r line < "$halt" 2> /dev/null
  echo "liza: halted by $halt (since $line); liza itself cannot be started" >&2
  echo "  hint: wait for a person, who must run: liza doctor" >&2
  exit 2
fi
if [ -d "$board/stopped" ]; then
  for file in "$board/stopped"/*; do
    concerns "$file" || continue
    line=
    while read -r line && [ "$line" != "action: warn" ]; do :; done 2> /dev/null < "$file"
    [ "$line" != "action: warn" ] || continue
    echo "liza: this session is stopped by $file; liza itself cannot be started" >&2
    echo "  hint: wait for a person, who must run: liza doctor" >&2
    exit 2
  done
fi
echo "liza: the program liza was not found, so nothing is evaluated; see: liza doctor" >&2
exit 0
