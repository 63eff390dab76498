"""One line of input on a raw terminal: keys become text, and a few of them commands. Pure: bytes in, actions out."""

import codecs
import re
from dataclasses import dataclass
from typing import Literal

from crossmemory.attach.terminal.harmless import columns, cut, harmless

Key = Literal["line", "detach", "suspend", "redraw"]

_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O.|[^\[O])")
_UNFINISHED = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*|O)?")
_PASTE, _PASTED = "\x1b[200~", "\x1b[201~"
_CTRL_B = "\x02"


@dataclass(frozen=True, slots=True)
class Action:
    """What a key asks for; `text` is the line that was entered."""

    key: Key
    text: str = ""


class Editor:
    """The line that is being typed. Ctrl-B is the prefix key, as in tmux."""

    def __init__(self) -> None:
        self.text, self.at = "", 0
        self.prefixed = False  # Ctrl-B was pressed
        self._rest = ""
        self._pasting = False
        self._decode = codecs.getincrementaldecoder("utf-8")("replace")
        self._entered: list[str] = []
        self._back = 0  # how far back in what was entered

    def feed(self, data: bytes) -> list[Action]:
        """Take what came from the keyboard."""
        text, self._rest = self._rest + self._decode.decode(data), ""
        actions: list[Action] = []
        while text:
            if text[0] == "\x1b":
                found = _ESCAPE.match(text)
                if found is None:
                    if _UNFINISHED.fullmatch(text):
                        self._rest = text
                        break
                    text = text[1:]
                    continue
                text = text[found.end() :]
                self._escape(found[0])
            elif self._pasting:
                self._insert("\n" if text[0] == "\r" else text[0])
                text = text[1:]
            else:
                actions += self._press(text[0])
                text = text[1:]
        return actions

    def shown(self, width: int, mark: str = "> ") -> tuple[str, int]:
        """The line as it is drawn in so many columns, and the column of the cursor."""
        room = max(4, width - len(mark) - 1)
        before = harmless(self.text[: self.at]).replace("\n", "⏎")
        while columns(before) > room - 2:
            before = "…" + before[max(2, len(before) // 3) :]
        after = harmless(self.text[self.at :]).replace("\n", "⏎")
        column = len(mark) + columns(before)
        return mark + before + cut(after, room - columns(before)), column

    def _press(self, char: str) -> list[Action]:
        if self.prefixed:
            self.prefixed = False
            return [Action("detach")] if char in "dD\x04" else []
        if char == _CTRL_B:
            self.prefixed = True
        elif char in "\r\n":
            return self._enter()
        elif char == "\x03" or (char == "\x04" and not self.text):
            return [Action("detach")]
        elif char == "\x1a":
            return [Action("suspend")]
        elif char == "\x0c":
            return [Action("redraw")]
        elif char in _EDITS:
            _EDITS[char](self)
        else:
            self._insert(char)
        return []

    def _enter(self) -> list[Action]:
        line = self.text
        self.text, self.at, self._back = "", 0, 0
        if not line.strip():
            return []
        self._entered.append(line)
        return [Action("line", line)]

    def _insert(self, char: str) -> None:
        if char.isprintable() or char in "\n\t" or harmless(char) == char:
            self.text = self.text[: self.at] + char + self.text[self.at :]
            self.at += 1

    def _escape(self, keys: str) -> None:
        if keys in (_PASTE, _PASTED):
            self._pasting = keys == _PASTE
        elif keys in ("\x1b\r", "\x1b\n"):  # Alt-Enter
            self._insert("\n")
        elif keys in _MOVES and not self._pasting:
            _MOVES[keys](self)

    def _backspace(self) -> None:
        if self.at:
            self.text = self.text[: self.at - 1] + self.text[self.at :]
            self.at -= 1

    def _delete(self) -> None:
        self.text = self.text[: self.at] + self.text[self.at + 1 :]

    def _left(self) -> None:
        self.at = max(0, self.at - 1)

    def _right(self) -> None:
        self.at = min(len(self.text), self.at + 1)

    def _home(self) -> None:
        self.at = 0

    def _end(self) -> None:
        self.at = len(self.text)

    def _erase_before(self) -> None:
        self.text, self.at = self.text[self.at :], 0

    def _erase_after(self) -> None:
        self.text = self.text[: self.at]

    def _erase_word(self) -> None:
        kept = self.text[: self.at].rstrip()
        kept = kept[: kept.rfind(" ") + 1]
        self.text, self.at = kept + self.text[self.at :], len(kept)

    def _older(self) -> None:
        self._recall(self._back + 1)

    def _newer(self) -> None:
        self._recall(self._back - 1)

    def _recall(self, back: int) -> None:
        if 0 <= back <= len(self._entered):
            self._back = back
            self.text = self._entered[-back] if back else ""
            self.at = len(self.text)


_EDITS = {
    "\x7f": Editor._backspace,
    "\x08": Editor._backspace,
    "\x01": Editor._home,
    "\x05": Editor._end,
    "\x04": Editor._delete,
    "\x15": Editor._erase_before,
    "\x0b": Editor._erase_after,
    "\x17": Editor._erase_word,
}
_MOVES = {
    **dict.fromkeys(("\x1b[A", "\x1bOA"), Editor._older),
    **dict.fromkeys(("\x1b[B", "\x1bOB"), Editor._newer),
    **dict.fromkeys(("\x1b[C", "\x1bOC"), Editor._right),
    **dict.fromkeys(("\x1b[D", "\x1bOD"), Editor._left),
    **dict.fromkeys(("\x1b[H", "\x1bOH", "\x1b[1~"), Editor._home),
    **dict.fromkeys(("\x1b[F", "\x1bOF", "\x1b[4~"), Editor._end),
    "\x1b[3~": Editor._delete,
}
