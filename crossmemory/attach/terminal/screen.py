"""What stands on the terminal: lines that stay, and below them a few that change, the last one the line of input.

Without a terminal (`live=False`) only what stays is written, streamed text as it comes.
"""

from collections.abc import Sequence

from crossmemory.attach.state import Item, State
from crossmemory.attach.terminal import told
from crossmemory.attach.terminal.harmless import Wrapper, cut, harmless
from crossmemory.attach.terminal.told import Line, Style
from crossmemory.text import CHAT

_CODES = {"dim": "2", "bold": "1", "warn": "33", "bad": "31"}
_CLEAR = "\x1b[H\x1b[2J\x1b[3J"


class Screen:
    """Turns states into text to write. What was written stays; what changed later gets a line of its own."""

    def __init__(self, *, live: bool, color: bool, width: int = 80) -> None:
        self.live, self.color = live, color
        self._wrapper = Wrapper(max(20, width - 1))
        self._rows_above = 0  # rows of the changing part above the one with the cursor
        self._numbers: dict[str, int] = {}
        self._forget()

    def _forget(self) -> None:
        self._shown: tuple[Item, ...] = ()
        self._last_seq = 0
        self._streamed: dict[str, int] = {}  # characters of the raw text that are written
        self._last = ""  # the message whose text was written last
        self._day = ""
        self._midline = False
        self._out: list[str] = []
        self._wrapper.flush()

    def resize(self, width: int) -> None:
        """To so many columns. The last one stays free: what terminals do after it differs."""
        self._wrapper.width = max(20, width - 1)

    @property
    def width(self) -> int:
        """Columns that are used."""
        return self._wrapper.width

    @property
    def begun(self) -> bool:
        """Whether the conversation is on the screen."""
        return bool(self._last_seq)

    def clear(self) -> str:
        """Begin again: the log was rewritten, or Ctrl-L."""
        again = self.begun
        self._forget()
        self._rows_above = 0
        if self.live:
            return _CLEAR
        return "\n\n" if again else ""

    def open(self, number: int) -> str | None:
        """The tool call that was shown with a number."""
        return next((call for call, given in self._numbers.items() if given == number), None)

    def say(self, line: Line) -> None:
        """A line of the program's own."""
        self._line(*line)

    def take(self, state: State) -> None:
        """Write what a state has that was not written."""
        if not self.begun and state.seq:
            self._line(*told.title(state))
            if state.gap:
                self._line("dim", str(CHAT["load_earlier"]) + " ↑")
        for before, item in zip(self._shown, state.items, strict=False):
            if before is not item:
                self._changed(before, item)
        for item in state.items[len(self._shown) :]:
            self._new(item, state)
        self._shown, self._last_seq = state.items, state.seq

    def draw(self, below: Sequence[Line], line: str, column: int) -> str:
        """All that was said and taken since, and the changing part: lines, and the line of input with its cursor."""
        text, self._out = "".join(self._out), []
        if not self.live:
            return text
        width = self._wrapper.width
        rows = [harmless(self._wrapper.tail)] if self._wrapper.tail else []
        rows += [self._styled(style, cut(words, width)) for style, words in below]
        text = self.erased() + text + "".join(f"{row}\n" for row in rows) + line + f"\r\x1b[{column}C" * (column > 0)
        self._rows_above = len(rows)
        return text

    def erased(self) -> str:
        """Away with the changing part."""
        if not self.live:
            return ""
        up = f"\x1b[{self._rows_above}A" if self._rows_above else ""
        self._rows_above = 0
        return f"\r{up}\x1b[J"

    def _new(self, item: Item, state: State) -> None:
        day = told.day(item)
        if day and day != self._day:
            self._day = day
            self._line("dim", day)
        if item["kind"] == "notice":
            self._lines(told.notice(item, state))
        elif item["kind"] == "tool":
            self._lines(told.tool(item, self._number(item)))
        else:
            self._begin(item)
            self._text(item)

    def _changed(self, before: Item, item: Item) -> None:
        if item["kind"] == "tool":
            self._tool_changed(before, item)
        elif item["kind"] == "message":
            if before["status"] == "writing" or item["text"] != before["text"]:
                if not item["text"].startswith(before["text"]):  # edited, or not what was streamed
                    self._streamed[item["id"]] = 0
                    self._begin(item)
                self._text(item)
            elif told.ending(item) != told.ending(before):
                self._line(*told.header(item))
                self._lines(told.ending(item))

    def _tool_changed(self, before: Item, item: Item) -> None:
        number = self._number(item)
        if item["approval"] and before["approval"] and item["approval"]["decision"] != before["approval"]["decision"]:
            self._line(*told.decided(item, number))
        elif item["approval"] and not before["approval"]:
            self._lines(told.tool(item, number))
        elif item["status"] != before["status"]:
            self._lines(told.tool({**item, "approval": None}, number))

    def _begin(self, item: Item) -> None:
        self._line(*told.header(item))
        self._lines(told.saw(item))
        self._last = item["id"]

    def _text(self, item: Item) -> None:
        """The text of a message that was not written yet, and how it ended."""
        if item["status"] == "redacted":
            self._streamed[item["id"]] = 0
            return self._lines(told.ending(item))
        done = self._streamed.get(item["id"], 0)
        if len(item["text"]) > done:
            if self._last != item["id"]:
                self._begin(item)
            self._stream(harmless(item["text"][done:]))
            self._streamed[item["id"]] = len(item["text"])
        if item["status"] != "writing":
            self._end_line()
            self._lines(told.ending(item))
        return None

    def _number(self, item: Item) -> int:
        return self._numbers.setdefault(item["id"], len(self._numbers) + 1)

    def _stream(self, text: str) -> None:
        if self.live:
            self._out += [f"{line}\n" for line in self._wrapper.feed(text)]
        elif text:
            self._out.append(text)
            self._midline = not text.endswith("\n")

    def _end_line(self) -> None:
        if self._wrapper.tail:
            self._out.append(f"{self._wrapper.flush()}\n")
        elif self._midline:
            self._out.append("\n")
        self._midline = False

    def _lines(self, lines: Sequence[Line]) -> None:
        for line in lines:
            self._line(*line)

    def _line(self, style: Style, text: str) -> None:
        self._end_line()
        self._out.append(self._styled(style, text) + "\n")
        self._last = ""

    def _styled(self, style: Style, text: str) -> str:
        code = _CODES.get(style) if self.color else None
        return f"\x1b[{code}m{text}\x1b[0m" if code else text
