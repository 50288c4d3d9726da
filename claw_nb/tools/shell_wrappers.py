"""Programs that run another program: taken off, so that the inner one is judged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from claw_nb.tools.shell_calls import Call
from claw_nb.tools.shell_commands import Command
from claw_nb.tools.shell_paths import Places
from claw_nb.tools.shell_words import Word


@dataclass(frozen=True, kw_only=True)
class _Wrapper:
    """``valued``: options that take the next word; ``skips``: words before the inner program."""

    valued: frozenset[str] = frozenset()
    skips: int = 0


def _row(valued: str = "", skips: int = 0) -> _Wrapper:
    return _Wrapper(valued=frozenset(valued.split()), skips=skips)


_WRAPPERS: dict[str, _Wrapper] = {
    **dict.fromkeys(
        ("command", "builtin", "nohup", "setsid", "coproc", "noglob", "nocorrect", "catchsegv",
         "caffeinate", "unbuffer", "then", "do", "else", "!", "busybox", "toybox", "torsocks",
         "fakeroot", "chronic"),
        _row(),
    ),
    "time": _row("-o -f --output --format"),
    "exec": _row("-a"),
    "nice": _row("-n --adjustment"),
    "ionice": _row("-c -n -p --class --classdata"),
    "chrt": _row(skips=1),
    "taskset": _row(skips=1),
    "timeout": _row("-s -k --signal --kill-after", skips=1),
    "stdbuf": _row("-i -o -e"),
    "strace": _row("-o -e -s -p -u -E -a -I -O -S"),
    "ltrace": _row("-o -e -s -p -u"),
    "flock": _row("-w -E --timeout", skips=1),
    "watch": _row("-n -d --interval"),
    "env": _row("-u -C --unset --chdir"),
    "chroot": _row(skips=1),
    "unshare": _row(),
    "nsenter": _row("-t --target"),
    "xvfb-run": _row("-s -n -f -e -l -p"),
    "systemd-run": _row("-p -u --unit --property --slice"),
    "firejail": _row(),
    "proxychains": _row("-f"),
    "rlwrap": _row(),
    "arch": _row(),
}  # fmt: skip

_XARGS = _row("-n -I -P -L -d -s -a -E --max-args --max-procs --replace --delimiter --arg-file")
_EXECUTES = ("-exec", "-execdir", "-ok", "-okdir")
_TESTS = re.compile(r"-(?!type$|depth$|mindepth$|maxdepth$|xdev$|mount$|delete$|exec|ok|print)\w+")


def unwrapped(command: Command, places: Places) -> Iterator[Call]:
    """The calls that a command makes: its own, and those that it hands on."""
    yield from _unwrap(command.words, command, places, repeated=False)


def _unwrap(
    words: Sequence[Word], command: Command, places: Places, *, repeated: bool
) -> Iterator[Call]:
    if not words:
        return
    name = _name(words[0])
    call = Call(name=name, args=tuple(words[1:]), command=command, places=places, repeated=repeated)
    if name in _WRAPPERS:
        inner = _skip(words[1:], _WRAPPERS[name])
        if _only_looks(call) or not inner:
            yield call
        elif name == "env" and (script := _split_string(call.texts)):
            yield replace(call, name="eval", args=(Word(text=script),))
        else:
            yield from _unwrap(inner, command, places, repeated=repeated)
        return
    if name in ("xargs", "parallel"):
        inner = _skip(words[1:], _XARGS)
        fed = _fed(command)
        yield from _unwrap([*inner, *(fed or ())], command, places, repeated=fed is None)
        return
    if name == "find":
        yield from _find(words[1:], command, places)
    yield call


def _name(word: Word) -> str:
    """The program's name; on a file system that ignores case, ``RM`` is ``rm``."""
    return word.text.rsplit("/", 1)[-1].lower().removesuffix(".exe")


def _only_looks(call: Call) -> bool:
    """``command -v rm`` tells where rm is."""
    return call.name == "command" and call.has("vV")


def _split_string(texts: Sequence[str]) -> str | None:
    """``env -S 'rm -rf /'`` takes its string apart."""
    for at, text in enumerate(texts):
        if match := re.match(r"(?:-\w*S|--split-string=?)(.*)", text, re.DOTALL):
            return " ".join((match[1], *texts[at + 1 :]))
    return None


def _skip(words: Sequence[Word], wrapper: _Wrapper) -> list[Word]:
    rest = list(words)
    skips = wrapper.skips
    while rest:
        text = rest[0].text
        if text == "--":
            rest.pop(0)
            break
        if text in wrapper.valued:
            del rest[:2]
        elif (text.startswith("-") and len(text) > 1) or re.match(r"\w+=", text):
            rest.pop(0)
        elif skips:
            skips -= 1
            rest.pop(0)
        else:
            break
    return rest


def _fed(command: Command) -> list[Word] | None:
    """The arguments that ``xargs`` gets, when they are plainly there."""
    if len(command.feeds) != 1 or command.feeds[0].name not in ("echo", "printf"):
        return None
    said = command.feeds[0].words[1:]
    if any(word.dynamic for word in said):
        return None
    return [Word(text=part) for word in said for part in word.text.split()]


def _find(words: Sequence[Word], command: Command, places: Places) -> Iterator[Call]:
    """``find``'s own deletions and the programs that it runs, as calls on its starting points."""
    texts = [word.text for word in words]
    starts = []
    for word in words:
        if word.text.startswith(("-", "(", "!")):
            break
        starts.append(word)
    everything = not any(_TESTS.fullmatch(text) for text in _own(texts))
    for at, text in enumerate(texts):
        if text == "-delete":
            args = (Word(text="-r"), *starts) if everything else (Word(text="{}", dynamic=True),)
            yield Call(name="rm", args=args, command=command, places=places, repeated=True)
        if text in _EXECUTES:
            ends = [i for i in range(at, len(texts)) if texts[i] in (";", "+")]
            inner = list(words[at + 1 : ends[0] if ends else None])
            if everything:
                inner = [
                    each for word in inner for each in (starts if word.text == "{}" else [word])
                ]
            yield from _unwrap(inner, command, places, repeated=True)
        if text in ("-fprint", "-fprintf", "-fls", "-fprint0") and at + 1 < len(words):
            yield Call(name="tee", args=(words[at + 1],), command=command, places=places)


def _own(texts: Sequence[str]) -> Iterator[str]:
    """``find``'s own words, without those of the programs that it runs."""
    inside = False
    for text in texts:
        inside = text in _EXECUTES or (inside and text not in (";", "+"))
        if not inside:
            yield text
